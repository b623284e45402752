# frozen_string_literal: true

# The WebSocket echo without Ruvoy, to tell whose fault a failure is.

require_relative "server_process"

class DirectProcess < ServerProcess
  def initialize
    super
    spawn_server({}, "ruby", File.expand_path("direct_websocket.rb", __dir__))
  end

  def wait_until_ready
    @port = wait_for_boot("the echo names its port") { log[/listens on port (\d+)/, 1] }.to_i
  end
end
