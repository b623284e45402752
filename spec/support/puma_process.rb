# frozen_string_literal: true

# A real Puma that serves a rackup: what Ruvoy's answers are compared with.

require_relative "server_process"

class PumaProcess < ServerProcess
  # @param rackup [String] path of the rackup
  # @param threads [String] the least and the most, as Puma takes them
  # @param bind [String] where it listens, as a URL
  def initialize(rackup:, threads: "4:4", bind: "tcp://127.0.0.1:0")
    super()
    spawn_server({ "RACK_ENV" => "none" }, "puma", "--bind", bind, "--threads", threads, "--quiet", rackup)
  end

  def wait_until_ready
    @port = wait_for_boot("Puma names its port") { log[%r{Listening on \w+://127\.0\.0\.1:(\d+)}, 1] }.to_i
    wait_for_boot("Puma accepts") do
      TCPSocket.new("127.0.0.1", port).close
      true
    rescue Errno::ECONNREFUSED
      false
    end
  end
end
