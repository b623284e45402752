# frozen_string_literal: true

# What is too much, and what is too slow, gets the status that says so; none of it reaches the application.

require "support/integration"

RSpec.describe "limits of a request" do
  serve "protocol", configure: lambda { |bootstrap|
    manager = bootstrap.dig("static_resources", "listeners", 0, "filter_chains", 0, "filters", 0, "typed_config")
    raise "no time limit for headers" unless manager["request_headers_timeout"] == "30s"

    manager["request_headers_timeout"] = "0.3s"
  }

  def status(bytes)
    connection = HTTP1::Connection.new(server)
    connection.write(bytes)
    connection.read_head.status
  ensure
    connection&.close
  end

  def with(fields, line = "GET /hello") = "#{line} HTTP/1.1\r\nHost: a.test\r\n#{fields}\r\n"

  it "are 16 KiB for the target: 414" do
    expect(status(with("", "GET /hello?#{"x" * 16_000}"))).to eq(200)
    expect(status(with("", "GET /hello?#{"x" * 17_000}"))).to eq(414)
  end

  it "are 64 KiB and 100 fields for the header: 431" do
    expect(status(with("x-a: #{"x" * 60_000}\r\n"))).to eq(200)
    expect(status(with("x-a: #{"x" * 70_000}\r\n"))).to eq(431)
    expect(status(with(Array.new(101) { |number| "x-#{number}: 1\r\n" }.join))).to eq(431)
  end

  it "hold over HTTP/2 too" do
    expect(exchange(:h2, "/hello?#{"x" * 17_000}").status).to eq(414)
    fields = Array.new(110) { |number| ["x-#{number}", "1"] }.to_h
    expect { exchange(:h2, "/hello", headers: fields).status }.to raise_error(HTTP1::Broken)
  end

  # RFC 9112, 6.3: a request with neither has no body, so that 411 has no case here.
  it "need no length for a body: one without length and coding is empty" do
    expect(status(with("", "POST /echo"))).to eq(200)
  end

  it "are thirty seconds for the head to come: 408" do
    connection = HTTP1::Connection.new(server)
    connection.write("GET /hello HTTP/1.1\r\nHost: a.test\r\nX-Slow: ")
    expect(connection.read_head.status).to eq(408)
  end

  it "leave the body time" do
    connection = HTTP1::Connection.new(server)
    connection.write(with("Content-Length: 5\r\n", "POST /echo"))
    # Longer than the head may take.
    "hell".each_char { |byte| connection.write(byte) && expect(connection.readable?(0.15)).to(be(false)) }
    connection.write("o")
    expect(connection.read_head.status).to eq(200)
  end
end
