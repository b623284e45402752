# frozen_string_literal: true

# `protocol: "websocket"` switches the upstream and then the client, and relays both ways.

require "support/upstreams"

RSpec.describe "an upstream that switches to WebSocket" do
  serve_upstreams

  let(:key) { "dGhlIHNhbXBsZSBub25jZQ==" }

  # Whatever is open at the end holds the server up.
  after { @connections&.each(&:close) }

  def websocket(more = {}, **)
    HTTP1::Connection.new(server).tap do |connection|
      (@connections ||= []) << connection
      fields = { "host" => "example.test", "connection" => "Upgrade", "upgrade" => "websocket",
                 "sec-websocket-version" => "13", "sec-websocket-key" => key, **more }
      connection.write("GET #{plan("/stream", path: "/websocket", protocol: "websocket", **)} HTTP/1.1\r\n" \
                       "#{fields.map { |name, value| "#{name}: #{value}\r\n" }.join}\r\n")
    end
  end

  it "switches the client, with the upstream's proof" do
    head = websocket.read_head
    expect([head.status, head["upgrade"], head["sec-websocket-accept"]]).to eq([101, "websocket", "of #{key}"])
    expect(service.requests.last.fields).to include(%w[upgrade websocket], %w[sec-websocket-version 13])
  end

  it "relays both ways" do
    connection = websocket.tap(&:read_head)
    expect(connection.read(5)).to eq("hello")
    %w[one two].each do |text|
      connection.write(text)
      expect(connection.read(8)).to eq("echo #{text}")
    end
  end

  it "ends when the upstream ends" do
    connection = websocket.tap(&:read_head)
    expect(connection.read(5)).to eq("hello")
    connection.write("bye")
    expect(connection).to be_closed_by_peer
  end

  it "ends when the client leaves" do
    connection = websocket.tap(&:read_head)
    expect(connection.read(5)).to eq("hello")
    connection.abort
    wait_until("the upstream noticed") { service.in_hand.zero? }
  end

  it "passes a refusal on" do
    connection = websocket({ "sec-websocket-protocol" => "none" })
    expect(connection.read_head.status).to eq(403)
    expect(connection.read(2)).to eq("no")
  end

  it "works for HTTP/2's extended CONNECT, which has no key" do
    @connections = [connection = HTTP2::Connection.new(server)]
    fields = [[":method", "CONNECT"], [":protocol", "websocket"], [":scheme", "http"], [":authority", "example.test"],
              [":path", plan("/stream", path: "/websocket", protocol: "websocket")], %w[sec-websocket-version 13]]
    id = connection.headers(fields, end_stream: false)
    kind, _, head = connection.next_frame(id)
    expect([kind, head.to_h[":status"]]).to eq([HTTP2::HEADERS, "200"])
    expect(head.to_h).not_to include("sec-websocket-accept")
    expect(service.requests.last["sec-websocket-key"].unpack1("m").bytesize).to eq(16)
    expect(connection.next_frame(id)[2]).to eq("hello")
    connection.data(id, "one")
    expect(connection.next_frame(id)[2]).to eq("echo one")
  end

  it "is refused if the client did not offer it" do
    expect(outcome("/stream", path: "/websocket", protocol: "websocket"))
      .to include(error: "ArgumentError", message: /\Aprotocol: the client did not offer "websocket"/)
    expect(service.requests).to be_empty
  end
end
