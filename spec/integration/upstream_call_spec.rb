# frozen_string_literal: true

# `env["ruvoy.upstream"].call`: what the upstream sees, what the application gets, and every way in which it fails.

require "support/upstreams"

RSpec.describe "an upstream call" do
  serve_upstreams(filter: { "max_response_bytes" => 100_000, "timeout_ms" => 20_000 })

  def fields_seen(...) = echoed(...).fetch(:fields).group_by(&:first).transform_values { |all| all.map(&:last) }

  it "has the answer's status, headers and body" do
    expect(outcome("/call", path: "/cookies"))
      .to include(status: 200, body: "two", headers: include("set-cookie": ["a=1", "b=2"], "content-length": "3"))
  end

  it "drops hop-by-hop fields both ways" do
    headers = { "Connection" => "x-mine", "X-Mine" => "1", "Keep-Alive" => "5", "TE" => "trailers", "X-Kept" => "1" }
    expect(fields_seen(headers: headers)).to include("x-kept" => ["1"])
    expect(fields_seen(headers: headers)).not_to include("x-mine", "keep-alive", "te", "connection")
    expect(outcome("/call", path: "/cookies")[:headers]).not_to include(:"keep-alive")
  end

  it "sends method, path, headers and the cluster's name as the host" do
    expect(echoed(method: "DELETE", path: "/echo?a=b%20c")[:verb]).to eq("DELETE")
    expect(service.requests.last.path).to eq("/echo?a=b%20c")
    fields = fields_seen(headers: { "X-Many" => %w[1 2], "x-one" => 1, "x-none" => nil })
    expect(fields).to include("x-many" => %w[1 2], "x-one" => ["1"], "host" => ["service"])
    expect(fields).not_to include("x-none")
    expect(fields_seen(headers: { "Host" => "other.test" })).to include("host" => ["other.test"])
  end

  it "sends a String or an Array with its length, and no body at all" do
    expect(echoed(method: "POST", body: "1234")).to include(size: 4, digest: Digest::SHA256.hexdigest("1234"))
    expect(service.requests.last["content-length"]).to eq("4")
    expect(echoed(method: "PUT", body: %w[12 34])[:size]).to eq(4)
    expect(fields_seen(method: "POST")).to include("content-length" => ["0"])
    expect(fields_seen).not_to include("content-length", "transfer-encoding")
  end

  it "sends rack.input as it lands" do
    File.write(file = File.join(server.directory, "upload"), "x" * 300_000)
    expect(echoed("/upload", "--data-binary", "@#{file}", method: "POST"))
      .to include(size: 300_000, digest: Digest::SHA256.hexdigest("x" * 300_000))
    expect(service.requests.last["transfer-encoding"]).to eq("chunked")
    expect(fields_seen("/upload")).not_to include("transfer-encoding")
  end

  it "has no body for HEAD, 204 and 304" do
    expect(outcome("/call", method: "HEAD")).to include(status: 200, body: "")
    expect(outcome("/call", path: "/status/204")).to include(status: 204, body: "")
    expect(outcome("/call", path: "/status/304")).to include(status: 304, body: "")
  end

  it "carries the trace context of the request" do
    own = { "traceparent" => "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "tracestate" => "a=b",
            "x-b3-traceid" => "80f198ee56343ba864fe8b2a57d3eff7", "b3" => "0" }
    arguments = own.flat_map { |name, value| ["--header", "#{name}: #{value}"] }
    seen = fields_seen("/call", *arguments)
    expect(seen).to include(own.transform_values { |value| [value] })
    expect(seen["x-request-id"]).to match([/\h{8}-/])
    seen = fields_seen("/call", *arguments, headers: { "traceparent" => "mine", "X-Request-ID" => "my-own" })
    expect(seen).to include("traceparent" => ["mine"], "x-request-id" => ["my-own"], "b3" => ["0"])
    expect(seen).not_to include("tracestate")
  end

  it "overlaps with the other calls of its request" do
    request = exchange(:h1, plan("/together", calls: [{ path: "/gate" }] * 5))
    wait_until("all five are at the gate") { service.in_hand == 5 }
    service.open_gate
    expect(JSON.parse(request.body).map { |answer| answer["body"] }).to eq(["passed"] * 5)
  end

  it "holds no thread while it waits" do
    request = exchange(:h1, plan("/call", path: "/gate"))
    wait_until("it is at the gate") { service.in_hand == 1 }
    expect(outcome("/call")[:status]).to eq(200)
    service.open_gate
    expect(request.status).to eq(200)
  end

  it "is retried by Envoy if its headers say so, with its body" do
    retries = { "x-envoy-retry-on" => "5xx", "x-envoy-max-retries" => "3" }
    expect(outcome("/call", path: "/flaky/2", method: "POST", body: "12345", headers: retries))
      .to include(status: 200, body: "at last")
    expect(service.requests.map { |request| request.body.bytesize }).to eq([5, 5, 5])
  end

  describe "that fails" do
    def error(name, message) = include(error: "Ruvoy::#{name}", message: match(message))

    it "raises if Envoy has no such cluster" do
      expect(outcome("/call", cluster: "unknown")).to error("UpstreamError", /no cluster unknown/)
    end

    it "raises if there is no healthy host, or the breaker is open" do
      expect(outcome("/call", cluster: "empty")).to error("UpstreamError", /empty has no healthy host/)
      expect(outcome("/call", cluster: "breaker")).to error("UpstreamError", /breaker is open/)
      expect(outcome("/call", cluster: "empty", method: "HEAD")).to error("UpstreamError", /no healthy host/)
      expect(service.requests).to be_empty
    end

    it "is Envoy's 503 if the connection is refused" do
      expect(outcome("/call", cluster: "refused")).to include(status: 503, body: /connection failure/)
    end

    it "is Envoy's 504 if it takes too long, before the head or after it" do
      expect(outcome("/call", path: "/stall", timeout: 0.1)).to include(status: 504, body: "upstream request timeout")
      expect(outcome("/call", path: "/stalled-body", timeout: 0.1)).to include(status: 504)
      wait_until("both connections are closed") { service.closed == 2 }
    end

    it "raises if the upstream hangs up in the middle of the body" do
      expect(outcome("/call", path: "/hang-up")).to error("UpstreamError", /broke off/)
    end

    it "raises over max_response_bytes, and not below" do
      expect(outcome("/call", path: "/bytes/100000")[:body].bytesize).to eq(100_000)
      expect(outcome("/call", path: "/bytes/100001")).to error("UpstreamResponseTooLarge", /max_response_bytes/)
      expect(outcome("/call", path: "/bytes/50000000")).to error("UpstreamResponseTooLarge", /max_response_bytes/)
    end

    it "has the answer of an upstream that does not want the body" do
      expect(outcome("/endless-upload", path: "/early", method: "POST")).to include(status: 413, body: "early")
    end

    it "raises what its body raises, and the upstream sees no complete request" do
      expect(outcome("/failing-upload", method: "POST")).to include(error: "RuntimeError", message: "the body failed")
      expect(outcome("/call")[:status]).to eq(200)
      expect(service.requests.size).to eq(1)
    end

    it "raises on other threads, with a clear message" do
      clear = include(error: "ThreadError", message: /Ruvoy\.offload/)
      expect(outcome("/thread")).to clear
      expect(outcome("/offload")).to clear
    end
  end

  describe "that is interrupted" do
    it "by a timeout of the application is cancelled, and the request goes on" do
      expect(outcome("/given-up", patience: 0.05)).to eq(["given up", 200])
      wait_until("the upstream noticed") { service.closed == 1 }
    end

    %i[h1 h2].each do |version|
      it "by a client that leaves over #{version} is reset" do
        request = exchange(version, plan("/waiting", path: "/stall"))
        wait_until("the upstream has it") { service.in_hand == 1 }
        request.cancel
        wait_until("the upstream noticed") { service.closed == 1 }
        wait_until("the application noticed") { server.probe.values_at("started", "ensured").uniq.one? }
        expect(server.log).not_to match(%r{/waiting: the application failed})
      end
    end

    it "by the end of its request is reset, and raises" do
      @before = late_outcomes.size
      expect(get(plan("/late", path: "/stall", at_once: true)).body).to eq("answered")
      expect(late_outcome).to include(error: "Ruvoy::UpstreamError", message: /request ended/)
    end

    it "by the end of its request before it began raises" do
      @before = late_outcomes.size
      expect(get(plan("/late")).body).to eq("answered")
      get("/late-go")
      expect(late_outcome).to include(error: "Ruvoy::UpstreamError", message: /request has ended/)
      expect(service.requests).to be_empty
    end

    def late_outcomes = JSON.parse(get("/late-outcomes").body, symbolize_names: true)
    def late_outcome = wait_until("its outcome") { late_outcomes[@before] }
  end

  {
    cluster: [["nope", nil, 1], /\Acluster: .*is not among upstream\.clusters \(service, refused/],
    method: [["", "GET /", "CONNECT", 1, nil], /\Amethod: /],
    path: [["", "x", "/a b", "/a#b", "/a\r\n", "/\u00e9", nil, 1], /\Apath: /],
    headers: [[{ "a b" => "1" }, { "" => "1" }, { ":path" => "/" }, { "a" => "b\r\nc: d" }, { "a" => "b\nc" },
               { "a" => ["1", "\0"] }, [], "a: b", { "content-length" => "5" }], /\Aheaders: /],
    timeout: [[0, -1, "1", 1e9, true, []], /\Atimeout: /],
    body: [[1, true, [1], { "a" => "b" }], /\Abody: /]
  }.each do |argument, (values, message)|
    values.each do |value|
      it "refuses the #{argument} #{value.inspect} before anything is sent" do
        plan = argument == :headers && value.is_a?(Hash) ? { method: "POST", body: "1234" } : { method: "POST" }
        expect(outcome("/call", **plan, argument => value)).to include(error: "ArgumentError", message: match(message))
        expect(service.requests).to be_empty
      end
    end
  end
end
