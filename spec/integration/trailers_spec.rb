# frozen_string_literal: true

# Trailers and early hints over HTTP/1.1 (those over HTTP/2: http2_spec.rb).

require "support/integration"

RSpec.describe "HTTP/1.1" do
  serve "protocol"

  it "carries trailers both ways" do
    connection = HTTP1::Connection.new(server)
    connection.write("POST /trailers HTTP/1.1\r\nHost: a.test\r\nTE: trailers\r\nTransfer-Encoding: chunked\r\n\r\n" \
                     "3\r\nabc\r\n0\r\nX-First: 1\r\nX-First: 2\r\n\r\n")
    expect(connection.read_head["transfer-encoding"]).to eq("chunked")
    expect(connection.read(connection.line.hex)).to eq('nil [["x-first", "1, 2"]]')
    expect([connection.line, connection.line]).to eq(["", "0"])
    expect(Array.new(4) { connection.line }).to eq(["grpc-status: 0", "x-sum: 1", "x-sum: 2", ""])
  end

  it "sends early hints before the answer, and none to HTTP/1.0" do
    connection = HTTP1::Connection.new(server)
    connection.write("GET /hints HTTP/1.1\r\nHost: a.test\r\n\r\n")
    heads = Array.new(3) { connection.read_head }
    expect(heads.map { |head| [head.status, head["link"]] }).to eq(
      [[103, "</a.css>; rel=preload, </b.js>; rel=preload"], [103, "</c.css>; rel=preload"], [200, nil]]
    )
    old = HTTP1::Connection.new(server)
    old.write("GET /hints HTTP/1.0\r\n\r\n")
    expect(old.line).to eq("HTTP/1.0 200 OK")
  end
end
