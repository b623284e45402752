# frozen_string_literal: true

# `env["ruvoy.upstream"].stream`: an answer is passed on as it lands, and what happens when a side is slow or gone.

require "support/upstreams"

RSpec.shared_examples "an upstream stream" do |environment|
  serve_upstreams(filter: { "timeout_ms" => 20_000, "stream_buffer_bytes" => 262_144 }, environment: environment)

  it "can be returned as it is" do
    answer = get(plan("/stream", path: "/cookies"))
    expect([answer.status, answer.body, answer["content-length"]]).to eq([200, "two", "3"])
    expect(answer.fields).to include(["set-cookie", "a=1"], ["set-cookie", "b=2"])
    expect(get(plan("/stream", path: "/status/404")).status).to eq(404)
    expect(get(plan("/stream", path: "/status/304")).status).to eq(304)
    head = exchange(:h1, plan("/stream", method: "HEAD", path: "/echo"), verb: "HEAD").head
    expect([head.status, head["content-length"], head["content-type"]]).to eq([200, "0", "application/json"])
  end

  %i[h1 h2].each do |version|
    it "is passed on over #{version} as it lands" do
      request = exchange(version, plan("/stream", path: "/drops"))
      %w[one two three].each do |text|
        service.drop(text)
        expect(request.read).to eq(text)
      end
      service.drop(nil)
      expect(request.read).to be_nil
    end

    it "passes a request's body on over #{version}" do
      request = exchange(version, plan("/proxy", method: "POST"), verb: "POST", body: :stream)
      request.write("one")
      request.write("two")
      request.finish
      expect(JSON.parse(request.body)["size"]).to eq(6)
    end

    it "breaks off over #{version} if the upstream hangs up" do
      request = exchange(version, plan("/stream", path: "/hang-up"))
      expect(request.status).to eq(200)
      expect { request.body }.to raise_error(HTTP1::Broken)
    end

    it "is reset if a client over #{version} leaves" do
      request = exchange(version, plan("/stream", path: "/stalled-body"))
      expect(request.read).to eq("half")
      request.cancel
      wait_until("the upstream noticed") { service.closed == 1 }
    end
  end

  it "may take longer than the timeout, once its head is there" do
    request = exchange(:h1, plan("/stream", path: "/drops", timeout: 0.05))
    expect(request.status).to eq(200)
    expect(request.readable?(0.1)).to be(false)
    service.drop("late")
    service.drop(nil)
    expect(request.body).to eq("late")
  end

  it "is a 504 if its head does not come in time" do
    answer = get(plan("/stream", path: "/stall", timeout: 0.05))
    expect([answer.status, answer.body]).to eq([504, "upstream request timeout"])
    wait_until("the upstream noticed") { service.closed == 1 }
  end

  it "raises or answers as a call does if it cannot be sent" do
    %w[empty breaker unknown].each do |cluster|
      expect(outcome("/stream", cluster: cluster)).to include(error: "Ruvoy::UpstreamError")
    end
    expect(get(plan("/stream", cluster: "refused")).status).to eq(503)
    expect(outcome("/stream", path: "nowhere")).to include(error: "ArgumentError", message: /\Apath: /)
  end

  it "answers before the upload is over" do
    request = exchange(:h2, plan("/proxy", method: "POST", path: "/early"), verb: "POST", body: :stream)
    request.write("x" * 1000)
    expect([request.status, request.body]).to eq([413, "early"])
  end

  it "overflows if its reader lags more than stream_buffer_bytes, and says so" do
    request = exchange(:h1, plan("/lagging", path: "/bytes/10000000"))
    wait_until("the application has the head") { server.probe["lagging"] == 1 }
    wait_until("Envoy has given up") { server.stats["cluster.service.upstream_rq_active"].zero? }
    get("/go")
    expect(JSON.parse(request.body)).to include("error" => "Ruvoy::UpstreamError", "message" => /stream_buffer_bytes/)
  end

  it "overflows if the client does not keep up, and breaks off" do
    request = exchange(:h1, plan("/stream", path: "/bytes/200000000"))
    expect(request.status).to eq(200)
    wait_until("Envoy has given up") { server.stats["cluster.service.upstream_rq_active"].zero? }
    expect { request.body }.to raise_error(HTTP1::Broken)
    expect(server.rss_kib).to be < 300_000
  end
end

RSpec.describe "an upstream stream" do
  describe("as it is") { it_behaves_like "an upstream stream", "RUVOY_SPEC_BARE" => "1" }
  describe("wrapped by a middleware") { it_behaves_like "an upstream stream", {} }
end
