# frozen_string_literal: true

# Each upstream call is counted once, by how it went.

require "support/upstreams"

RSpec.describe "the statistics of upstream calls" do
  serve_upstreams(filter: { "max_response_bytes" => 1000, "stream_buffer_bytes" => 4096 })

  def counted
    server.stats.filter_map do |name, value|
      labels = name[/upstream_calls_total\.(.*)/, 1]
      [labels, value] if labels
    end.to_h
  end

  # @return [Array<String>] the labels under which something was counted by the block
  def change
    before = counted
    yield
    wait_until("it is counted") { counted != before }
    counted.filter_map { |labels, value| [labels, value - before.fetch(labels, 0)] if value != before[labels] }
  end

  {
    "completed" => { path: "/status/500" },
    "timed_out" => { path: "/stall", timeout: 0.05 },
    "reset" => { path: "/hang-up" },
    "too_large" => { path: "/bytes/1001" }
  }.each do |outcome, plan|
    it "have #{outcome}" do
      expect(change { outcome("/call", **plan) }).to match([[match(/service.*#{outcome}/), 1]])
    end
  end

  it "have refused" do
    %w[unknown empty breaker refused].each do |cluster|
      expect(change { outcome("/call", cluster: cluster) }).to match([[match(/#{cluster}.*refused/), 1]])
    end
  end

  it "have timed_out for the head of a stream" do
    expect(change { get(plan("/stream", path: "/stall", timeout: 0.05)) }).to match([[match(/timed_out/), 1]])
  end

  it "have overflow" do
    request = nil
    lagging = -> { request = exchange(:h1, plan("/lagging", path: "/bytes/100000")) }
    expect(change(&lagging)).to match([[match(/service.*overflow/), 1]])
    get("/go")
    expect(request.status).to eq(200)
  end

  it "have abandoned for a call that is given up, a client that leaves, and a request that ends" do
    expect(change { outcome("/given-up", patience: 0.05) }).to contain_exactly([match(/abandoned/), 1],
                                                                               [match(/completed/), 1])
    request = exchange(:h1, plan("/call", path: "/stall"))
    wait_until("the upstream has it") { service.in_hand == 1 }
    expect(change { request.cancel }).to match([[match(/abandoned/), 1]])
    expect(change { get(plan("/late", path: "/stall", at_once: true)) }).to match([[match(/abandoned/), 1]])
  end

  it "are there in Prometheus' form, with cluster and outcome as labels and the duration" do
    outcome("/call", path: "/cookies")
    wait_until("the histogram is merged") do
      server.admin("/stats/prometheus").match?(/upstream_duration_ms_count\{.*cluster="service".*\} [1-9]/)
    end
    expect(server.admin("/stats/prometheus")).to match(/upstream_calls_total\{.*cluster="service".*outcome="completed"/)
  end
end
