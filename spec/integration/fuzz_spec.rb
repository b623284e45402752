# frozen_string_literal: true

# Random bytes and damaged requests, for RUVOY_FUZZ_SECONDS (30): no crash, no hang, no answer of 500 or 503, and an
# environment that Rack::Lint accepts for whatever comes through. RUVOY_FUZZ_SEED repeats a run.

require "support/integration"
require "support/mutator"

RSpec.describe "fuzzing" do
  serve "protocol"

  seconds = Integer(ENV.fetch("RUVOY_FUZZ_SECONDS", "30"))

  requests = [
    "GET /hello HTTP/1.1\r\nHost: a.test\r\nAccept: */*\r\nCookie: a=1\r\n\r\n",
    "GET http://b.test:81/hello?a=b%20c HTTP/1.1\r\nHost: a.test\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n",
    "HEAD /echo HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "OPTIONS * HTTP/1.1\r\nHost: [::1]:80\r\n\r\n",
    "POST /echo HTTP/1.1\r\nHost: a.test\r\nContent-Type: a/b\r\nContent-Length: 11\r\n\r\nhello world",
    "POST /trailers HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n" \
    "5;a=b\r\nhello\r\n6\r\n world\r\n0\r\nX-T: 1\r\n\r\n",
    "PUT /digest HTTP/1.1\r\nHost: a.test\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\nhello",
    "GET /hints HTTP/1.1\r\nHost: a.test\r\n\r\nGET /big?70000 HTTP/1.1\r\nHost: a.test\r\n\r\n",
    "GET /hello HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nraw",
    "CONNECT a.test:443 HTTP/1.1\r\nHost: a.test\r\n\r\n"
  ].map(&:b)

  # What a client of HTTP/2 says, as bytes.
  def self.http2
    context = Protocol::HPACK::Context.new
    fields = [%w[:method POST], %w[:scheme http], %w[:authority a.test], %w[:path /echo], %w[x-a 1]]
    block = Protocol::HPACK::Compressor.new(+"".b, context).encode(fields)
    frames = [[4, 0, 0, [3, 100].pack("nN")], [1, 4, 1, block], [0, 0, 1, "hello"], [8, 0, 0, [1000].pack("N")],
              [6, 0, 0, "x" * 8], [0, 1, 1, " world"], [3, 0, 1, [8].pack("N")]]
    frames.map! { |kind, flags, id, payload| [0, payload.bytesize, kind, flags, id].pack("CnCCN") + payload.b }
    HTTP2::PREFACE.b + frames.join
  end

  # Sends messages, each on a connection of its own, and gathers for a moment what comes back.
  def exchange_all(messages)
    sockets = messages.to_h do |message|
      socket = TCPSocket.new("127.0.0.1", server.port)
      socket.write_nonblock(message, exception: false)
      [socket, +"".b]
    rescue SystemCallError
      [socket, +"".b]
    end
    gather(sockets, Waiting.now + 0.2)
    sockets.values
  ensure
    sockets&.each_key(&:close)
  end

  def gather(sockets, deadline)
    open = sockets.keys
    while open.any? && (left = deadline - Waiting.now).positive? && (readable, = IO.select(open, nil, nil, left))
      readable.each do |socket|
        sockets[socket] << socket.read_nonblock(65_536)
      rescue EOFError, SystemCallError
        open.delete(socket)
      end
    end
  end

  it "does no harm in #{seconds} s" do
    seed = Integer(ENV.fetch("RUVOY_FUZZ_SEED") { Random.new_seed % (2**32) })
    random = Random.new(seed)
    mutator = Mutator.new(random, requests + ([self.class.http2] * 3))
    deadline = Waiting.now + seconds
    sent = served = 0
    while Waiting.now < deadline
      messages = Array.new(32) { mutator.message }
      exchange_all(messages).zip(messages) do |answer, message|
        report = "seed #{seed}: #{message.inspect} got #{answer.inspect}"
        expect(answer).not_to match(%r{^HTTP/1\.[01] 50[0234]}n), report
        served += 1 if answer.match?(%r{\AHTTP/1\.[01] 200}n)
      end
      sent += messages.size
      expect(get("/hello").body).to eq("hello"), "seed #{seed}, after #{sent} messages"
    end
    wait_until("seed #{seed}: only the probe is in flight") { server.probe["inflight"] == 1 }
    expect(server.log.lines.grep(/\]\[(error|critical)\]/)).to eq([]), "seed #{seed}\n#{server.log_tail}"
    RSpec.configuration.reporter.message("fuzzing: #{sent} messages, #{served} of them served, seed #{seed}")
    expect(served).to be > sent / 20
  end
end
