# frozen_string_literal: true

# Applications that take the connection over, as they do under Puma.

require "websocket/driver"
require_relative "probe"

text = { "content-type" => "text/plain" }

# websocket-driver on the socket, on a thread of its own.
class DriverEcho
  attr_reader :env, :url

  def initialize(env)
    @env = env
    @url = "ws://#{env["HTTP_HOST"]}#{env["REQUEST_URI"]}"
    @io = env["rack.hijack"].call
    @driver = WebSocket::Driver.rack(self)
    @driver.on(:message) { |event| event.data.is_a?(String) ? @driver.text(event.data) : @driver.binary(event.data) }
    @driver.on(:close) { @io.close }
    @driver.start
    @thread = Thread.new { run }
  end

  def write(bytes) = @io.write(bytes)

  private

  def run
    @driver.parse(@io.readpartial(16_384)) until @io.closed?
  rescue IOError, SystemCallError
    @io.close
  ensure
    Probe.count("ended")
  end
end

answers = {
  "/chat" => ->(env) { DriverEcho.new(env) && [-1, {}, []] },
  # Talks inside of the call, and its response is ignored.
  "/inside" => lambda do |env|
    io = env["rack.hijack"].call
    io.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nX-A: 1\r\n\r\nfirst")
    io.write(io.readpartial(100).upcase)
    io.close
    [500, {}, ["ignored"]]
  end,
  "/refuse" => lambda do |env|
    env["rack.hijack"].call
    io = env["rack.hijack_io"]
    io.write("HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nno")
    io.close
    [-1, {}, []]
  end,
  "/silent" => ->(env) { env["rack.hijack"].call.close },
  "/junk" => ->(env) { env["rack.hijack"].call.then { |io| io.write("junk\r\n\r\n") && io.close } },
  "/raise" => ->(env) { env["rack.hijack"].call && raise("an error") },
  "/untaken" => ->(_env) { [200, text, ["untaken"]] }
}

map("/probe") { run Probe }
run(lambda do |env|
  next [200, text, [env.key?("rack.hijack?").to_s]] if env["PATH_INFO"] == "/offered"

  answers.fetch(env["PATH_INFO"]).call(env)
end)
