# frozen_string_literal: true

# The request of an upstream call: what crosses to Rust, and what an answer's fields become.

require "spec_helper"
require "ruvoy"
require "ruvoy/upstream"

RSpec.describe Ruvoy::Upstream::Outgoing do
  request = Struct.new(:env, :input)

  let(:env) { {} }
  let(:input) { nil }
  let(:settings) { [%w[a b], { "b" => ["https", "b.test"] }, 15.0] }
  let(:arguments) { { cluster: "a", method: "GET", path: "/", headers: {}, body: nil } }

  define_method(:outgoing) do |**changes|
    described_class.new(request.new(env, input), settings, { **arguments, **changes })
  end

  def fields(...) = outgoing(...).fields.each_slice(2).to_a

  it "begins with the pseudo-fields and the cluster's name as the host" do
    expect(fields.first(3)).to eq([[":method", "GET"], [":path", "/"], %w[host a]])
    expect(fields(cluster: :b)).to include(%w[host b.test], [":scheme", "https"])
    expect(fields(cluster: "b", headers: { "Host" => "own" })).to include(%w[host own])
  end

  it "takes methods as Symbols in any case, and as Strings as they are" do
    expect(fields(method: :delete).first).to eq([":method", "DELETE"])
    expect(fields(method: "purge").first).to eq([":method", "purge"])
    expect(fields(method: "OPTIONS", path: "*")[1]).to eq([":path", "*"])
  end

  it "lower-cases names and merges what differs in case only" do
    expect(fields(headers: { "X-A" => "1", "x-a" => "2", :"x-b" => :c })).to include(%w[x-a 1], %w[x-a 2], %w[x-b c])
  end

  it "announces a whole body by its length" do
    expect(fields(body: %w[ab c])).to include(%w[content-length 3])
    expect(fields(body: "abc", headers: { "content-length" => "3" })).to include(%w[content-length 3])
    expect(fields(method: "POST")).to include(%w[content-length 0])
    expect(fields.map(&:first)).not_to include("content-length")
    expect { outgoing(body: "abc", headers: { "content-length" => "4" }) }.to raise_error(ArgumentError, /\Aheaders: /)
  end

  it "lets a body be enumerated, and knows that an empty input is none" do
    expect(outgoing(body: [1].each)).to be_body_follows
    env["rack.input"] = Object.new
    expect(outgoing(body: env["rack.input"])).not_to be_body_follows
    expect(fields(body: [1].each, headers: { "content-length" => "7" })).to include(%w[content-length 7])
  end

  it "takes Envoy's time for what Envoy can count, and its own for the rest" do
    whole = outgoing(timeout: 0.0015)
    expect([whole.envoy_timeout_ms(whole: true), whole.own_timeout(whole: true)]).to eq([2, nil])
    expect([whole.envoy_timeout_ms(whole: false), whole.own_timeout(whole: false)]).to eq([0, 0.0015])
    expect(outgoing(body: [1].each).own_timeout(whole: true)).to eq(15.0)
    expect(outgoing(timeout: Rational(1, 2)).envoy_timeout_ms(whole: true)).to eq(500)
  end

  describe "with a trace context" do
    let(:env) do
      { "HTTP_TRACEPARENT" => "parent", "HTTP_TRACESTATE" => "state", "HTTP_X_REQUEST_ID" => "id",
        "HTTP_X_B3_TRACEID" => "trace", "HTTP_X_B3_SAMPLED" => "1" }
    end

    it "carries it on" do
      expect(fields).to include(%w[traceparent parent], %w[tracestate state], %w[x-request-id id],
                                %w[x-b3-traceid trace], %w[x-b3-sampled 1])
    end

    it "leaves it to the caller, one kind at a time" do
      seen = fields(headers: { "Traceparent" => "own", "b3" => "0" })
      expect(seen).to include(%w[traceparent own], %w[b3 0], %w[x-request-id id])
      expect(seen.map(&:first)).not_to include("tracestate", "x-b3-traceid", "x-b3-sampled")
    end
  end

  describe "that switches protocols" do
    let(:env) { { "rack.protocol" => ["websocket"], "HTTP_SEC_WEBSOCKET_KEY" => "key" } }

    it "has the client's handshake" do
      expect(fields(protocol: "websocket")).to include(%w[connection upgrade], %w[upgrade websocket],
                                                       %w[sec-websocket-key key])
      expect(outgoing(protocol: "websocket").answer_headers(101, %w[upgrade x sec-websocket-accept proof]))
        .to eq("upgrade" => "websocket", "sec-websocket-accept" => "proof")
    end

    it "has no body" do
      expect { outgoing(protocol: "websocket", body: "x") }.to raise_error(ArgumentError, /\Abody: /)
    end
  end

  describe "an answer's headers" do
    it "are a Hash, with Arrays where a field is repeated" do
      expect(outgoing.answer_headers(200, %w[a 1 b 2 a 3 a 4])).to eq("a" => %w[1 3 4], "b" => "2")
    end

    it "have no hop-by-hop fields" do
      flat = %w[connection x-hop,keep-alive x-hop 1 keep-alive 5 transfer-encoding chunked upgrade h2c x-kept 1]
      expect(outgoing.answer_headers(200, flat)).to eq("x-kept" => "1")
    end
  end
end
