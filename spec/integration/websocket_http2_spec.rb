# frozen_string_literal: true

# WebSockets over HTTP/2, by extended CONNECT (RFC 8441), with python3-h2 as the client.

require "json"
require "support/integration"
require "support/python"

RSpec.describe "WebSockets over HTTP/2" do
  serve "websocket"

  it "echo, close, and leave the connection to others" do
    output, status = Python.program("websocket", server.port, "/")
    expect(status).to be_success, output
    expect(JSON.parse(output)).to eq(
      "enable_connect_protocol" => 1, "status" => "200", "text" => true, "large" => true, "interleaved" => true,
      "ping" => true, "close" => [8, 1000], "ended" => true, "refused" => "403", "afterwards" => %w[200 hello]
    )
  end
end
