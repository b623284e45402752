# frozen_string_literal: true

# WebSocket upgrades over HTTP/1.1, byte by byte: taken by a library, by bare Rack, refused, and not asked for.

require "support/integration"

RSpec.describe "a WebSocket over HTTP/1.1" do
  # Open WebSockets are requests in flight, which the server's end waits for.
  serve "websocket", filter: { "limits" => { "shutdown_timeout_ms" => 200 } }

  # The example of RFC 6455, 1.3.
  handshake = "Host: a.test\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" \
              "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
  accept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

  def ask(path, fields)
    connection = HTTP1::Connection.new(server)
    connection.write("GET #{path} HTTP/1.1\r\n#{fields}\r\n")
    [connection, connection.read_head]
  end

  # A masked frame with an all-zero mask.
  def frame(opcode, payload) = [0x80 | opcode, 0x80 | payload.bytesize, 0].pack("CCN") + payload.b

  { "async-websocket" => "/", "websocket-driver" => "/driver" }.each do |library, path|
    it "is taken by #{library}" do
      connection, head = ask(path, handshake)
      expect([head.status, head["upgrade"], head["sec-websocket-accept"]]).to eq([101, "websocket", accept])
      expect(head["transfer-encoding"]).to be_nil
      connection.write(frame(1, "hello"))
      expect(connection.read(7)).to eq("\x81\x05hello".b)
      connection.write(frame(8, [1000].pack("n")))
      expect(connection.read(2).unpack1("C")).to eq(0x88)
      connection.close
    end
  end

  it "is taken by bare Rack, with fields of its own" do
    connection, head = ask("/raw", handshake)
    expect([head.status, head["x-raw"]]).to eq([101, "1"])
    connection.write("any bytes")
    expect(connection.read(9)).to eq("any bytes")
  end

  it "may be refused, and the next request is served" do
    connection, head = ask("/refuse", handshake)
    expect([head.status, connection.read(2)]).to eq([403, "no"])
    # RFC 9112, 9.6: the client is told that this connection is no longer one for requests.
    expect(head["connection"]).to eq("close")
    expect(connection.closed_by_peer?).to be(true)
    expect(get("/hello").status).to eq(200)
  end

  it "may be asked of an application that knows nothing of it" do
    connection, head = ask("/hello", handshake)
    expect([head.status, connection.read(5)]).to eq([200, "hello"])
  end

  it "is not made of another protocol, or of a request that does not ask for it" do
    ["Connection: Upgrade\r\nUpgrade: h2c\r\n", "Connection: Upgrade\r\nUpgrade: webs\r\n", ""].each do |fields|
      connection, head = ask("/hello", "Host: a.test\r\n#{fields}")
      expect(head.status).to eq(200)
      connection.read(5)
      connection.write("GET /hello HTTP/1.1\r\nHost: a.test\r\n\r\n")
      expect(connection.read_head.status).to eq(200)
    end
    expect(get("/").status).to eq(426)
  end

  it "leaves nothing behind" do
    connections = Array.new(20) { ask("/raw", handshake).first }
    before = server.fd_count
    connections.each(&:abort)
    wait_until("the descriptors are back") { server.fd_count <= before - 20 }
  end
end
