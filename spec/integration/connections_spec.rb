# frozen_string_literal: true

# Requests that share a connection: kept alive, pipelined, multiplexed.

require "support/integration"

RSpec.describe "a connection" do
  serve "streaming", concurrency: 2

  def request(line) = "POST /echo HTTP/1.1\r\nhost: example.test\r\ncontent-length: #{line.bytesize}\r\n\r\n#{line}"

  # Reads one chunked answer.
  def answer(connection)
    head = connection.read_head
    body = +""
    until (size = connection.line.hex).zero?
      body << connection.read(size)
      connection.line
    end
    connection.line
    [head.status, body]
  end

  it "serves requests that are pipelined, in their order" do
    connection = HTTP1::Connection.new(server)
    lines = Array.new(50) { |number| "line #{number}\n" }
    connection.write(lines.map { |line| request(line) }.join)
    expect(lines.map { answer(connection) }).to eq(lines.map { |line| [200, "got #{line}"] })
  end

  it "serves the next request after a failed one" do
    connection = HTTP1::Connection.new(server)
    connection.write("GET /nowhere HTTP/1.1\r\nhost: example.test\r\n\r\n")
    head = connection.read_head
    connection.read(head["content-length"].to_i)
    connection.write(request("again\n"))
    expect([head.status, answer(connection)]).to eq([404, [200, "got again\n"]])
  end

  it "carries 100 streams that answer while they read, in any order" do
    connection = HTTP2::Connection.new(server)
    connection.widen(0, HTTP2::WINDOW)
    streams = Array.new(100) do
      HTTP2::Exchange.new(server, "POST", "/echo", body: :stream, connection: connection)
    end
    3.times do |round|
      streams.shuffle.each { |stream| stream.write("round #{round}\n") }
      expect(streams.shuffle.map(&:read)).to all(eq("got round #{round}\n"))
    end
    streams.shuffle.each(&:finish)
    expect(streams.map(&:read)).to all(be_nil)
  end

  it "loses one stream without the others" do
    connection = HTTP2::Connection.new(server)
    streams = Array.new(10) { HTTP2::Exchange.new(server, "POST", "/echo", body: :stream, connection: connection) }
    streams.each { |stream| stream.write("a\n") }
    expect(streams.map(&:read)).to all(eq("got a\n"))
    streams.each_slice(2) { |leaving, _| leaving.cancel }
    staying = streams.each_slice(2).map(&:last)
    staying.each do |stream|
      stream.write("b\n")
      stream.finish
    end
    expect(staying.map(&:body)).to all(eq("got b\n"))
    connection.close
    wait_until("Envoy has nothing in hand") { server.active_requests.zero? }
  end
end
