# frozen_string_literal: true

# Rack's full hijack, where a client asks for an upgrade: what was made for a socket of Puma's runs unchanged.

require "support/integration"

RSpec.describe "rack.hijack" do
  serve "hijack", filter: { "limits" => { "shutdown_timeout_ms" => 200 } }

  def ask(path)
    connection = HTTP1::Connection.new(server)
    connection.write("GET #{path} HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" \
                     "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
    [connection, connection.read_head]
  end

  def frame(opcode, payload) = [0x80 | opcode, 0x80 | payload.bytesize, 0].pack("CCN") + payload.b

  def wait_until_alone = wait_until("only the probe is in flight") { server.probe["inflight"] == 1 }

  after { wait_until_alone }

  it "is offered only to who can be upgraded" do
    expect(get("/offered").body).to eq("false")
    connection, = ask("/offered")
    expect(connection.read(4)).to eq("true")
  end

  it "carries a WebSocket of websocket-driver, on a thread" do
    connection, head = ask("/chat")
    expect([head.status, head["sec-websocket-accept"]]).to eq([101, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="])
    20.times do |number|
      connection.write(frame(1, "hello #{number}"))
      expect(connection.read(2 + "hello #{number}".bytesize)).to end_with("hello #{number}")
    end
    connection.write(frame(8, [1000].pack("n")))
    expect(connection.read(2).unpack1("C")).to eq(0x88)
  end

  it "ends the application's socket when the client leaves" do
    ended = server.probe["ended"]
    connection, = ask("/chat")
    connection.abort
    wait_until("the thread has ended") { server.probe["ended"] == ended + 1 }
  end

  it "may be used inside of the call" do
    connection, head = ask("/inside")
    expect([head.status, head["x-a"]]).to eq([101, "1"])
    expect(connection.read(5)).to eq("first")
    connection.write("second")
    expect(connection.read(6)).to eq("SECOND")
    expect(connection.closed_by_peer?).to be(true)
  end

  it "may refuse" do
    connection, head = ask("/refuse")
    expect([head.status, head["content-type"], connection.read(2)]).to eq([403, "text/plain", "no"])
  end

  it "is a 500 where nothing, junk or an exception comes of it" do
    %w[/silent /junk /raise].each do |path|
      _, head = ask(path)
      expect([head.status, head["x-ruvoy-error"]]).to eq([500, path == "/raise" ? "application" : "contract"])
    end
  end

  it "need not be taken" do
    connection, head = ask("/untaken")
    expect([head.status, connection.read(7)]).to eq([200, "untaken"])
  end

  it "leaves no descriptors behind" do
    before = server.fd_count
    10.times { ask("/chat").first.abort }
    wait_until_alone
    wait_until("the descriptors are back") { server.fd_count <= before }
  end
end
