# frozen_string_literal: true

# WebSocket echoes: on async-websocket, on websocket-driver, and without a library; none of them knows Ruvoy.

require "async/websocket/adapters/rack"
require "websocket/driver"

text = { "content-type" => "text/plain" }
not_wanted = [426, text.merge("upgrade" => "websocket"), ["a WebSocket is wanted"]]

async = lambda do |env|
  Async::WebSocket::Adapters::Rack.open(env) do |connection|
    while (message = connection.read)
      connection.write(message)
      connection.flush
    end
  end || not_wanted
end

# websocket-driver writes the response's head itself, which Rack wants as status and headers.
class DriverEcho
  attr_reader :env, :url, :headers

  def initialize(env)
    @env = env
    @url = "ws://#{env["HTTP_HOST"]}#{env["REQUEST_URI"]}"
    @driver = WebSocket::Driver.rack(self)
    @driver.on(:message) { |event| event.data.is_a?(String) ? @driver.text(event.data) : @driver.binary(event.data) }
    @driver.on(:close) { @stream.close }
    @driver.start
  end

  # The driver's output.
  def write(bytes)
    return @stream.write(bytes) if @stream

    @headers = bytes.lines(chomp: true)[1..].filter_map { |line| line.split(": ", 2) if line.include?(": ") }.to_h
    @headers.transform_keys!(&:downcase)
  end

  def call(stream)
    @stream = stream
    while (bytes = stream.readpartial(16_384))
      @driver.parse(bytes)
    end
  rescue EOFError
    stream.close
  end
end

driver = lambda do |env|
  next not_wanted unless WebSocket::Driver.websocket?(env)

  echo = DriverEcho.new(env)
  [101, echo.headers.merge("rack.protocol" => "websocket"), echo]
end

# Bytes come back as they are: the server does not look into what follows the upgrade.
raw = lambda do |env|
  next not_wanted unless env["rack.protocol"]&.include?("websocket")

  echo = lambda do |stream|
    while (bytes = stream.read_partial(16_384))
      stream.write(bytes)
      stream.flush
    end
  ensure
    stream.close
  end
  [101, { "rack.protocol" => "websocket", "x-raw" => "1" }, echo]
end

map("/driver") { run driver }
map("/raw") { run raw }
map("/refuse") { run ->(_env) { [403, text, ["no"]] } }
map("/hello") { run ->(_env) { [200, text, ["hello"]] } }
run async
