# frozen_string_literal: true

# A real Puma that serves a rackup: what Ruvoy's answers are compared with.

require_relative "server_process"

class PumaProcess < ServerProcess
  # @param rackup [String] path of the rackup
  def initialize(rackup:)
    super()
    spawn_server({ "RACK_ENV" => "none" }, "puma", "--bind", "tcp://127.0.0.1:0", "--threads", "4:4", "--quiet", rackup)
  end

  def wait_until_ready
    @port = wait_for_boot("Puma names its port") { log[%r{Listening on http://127\.0\.0\.1:(\d+)}, 1] }.to_i
    wait_for_boot("Puma accepts") do
      TCPSocket.new("127.0.0.1", port).close
      true
    rescue Errno::ECONNREFUSED
      false
    end
  end
end
