# frozen_string_literal: true

# The statistics on Envoy's admin interface: each admitted request ends in exactly one outcome.

require "support/integration"

RSpec.describe "statistics" do
  serve "statistics", filter: { "limits" => { "request_body_bytes" => 1000, "requests" => 3 } }

  def stat(name) = server.stats.fetch("ruvoy.#{name}", 0)

  def outcomes
    %w[completed failed cancelled].to_h { |outcome| [outcome, stat("responses_total.outcome.#{outcome}")] }
  end

  def rejected(reason) = stat("rejected_total.reason.#{reason}")

  # How the outcomes change by what the block does, once nothing is in flight.
  def outcome_of
    before = outcomes
    yield
    wait_until("nothing is in flight") { stat("inflight_requests").zero? }
    outcomes.to_h { |outcome, count| [outcome, count - before[outcome]] }.reject { |_, by| by.zero? }
  end

  # Admitted requests are those that ended, at rest.
  after do
    wait_until("nothing is in flight") { stat("inflight_requests").zero? }
    expect(stat("requests_total")).to eq(outcomes.values.sum)
  end

  %i[h1 h2].each do |version|
    context "over #{version}" do
      def fetch(path, version, verb: "GET", **) = exchange(version, path, verb: verb, **).body

      it "count the application's responses as completed, whatever their status" do
        expect(outcome_of { fetch("/ok", version) }).to eq("completed" => 1)
        expect(outcome_of { fetch("/missing", version) }).to eq("completed" => 1)
        expect(outcome_of { fetch("/own-error", version) }).to eq("completed" => 1)
        expect(outcome_of { fetch("/stream", version) }).to eq("completed" => 1)
        expect(outcome_of { fetch("/ok", version, verb: "HEAD") }).to eq("completed" => 1)
      end

      it "count an application that raises, and a body that does, as failed" do
        expect(outcome_of { fetch("/raise", version) }).to eq("failed" => 1)
        expect(outcome_of { get("/body", version: version) }).to eq("failed" => 1)
      end

      it "count a client that leaves as cancelled" do
        expect(outcome_of do
          request = exchange(version, "/sleep")
          request.read
          expect(stat("inflight_requests")).to eq(1)
          request.cancel
        end).to eq("cancelled" => 1)
      end
    end
  end

  it "count refusals by their reason, and not as admitted" do
    admitted = stat("requests_total")
    refuse = -> { expect(get("/read", "--data", "x" * 1001).status).to eq(413) }
    expect(&refuse).to change { rejected("body-too-large") }.by(1)
    expect(stat("requests_total")).to eq(admitted)

    held = Array.new(3) { exchange(:h1, "/sleep").tap(&:read) }
    expect { expect(get("/ok").status).to eq(503) }.to change { rejected("overloaded") }.by(1)
    expect(stat("requests_total")).to eq(admitted + 3)
    held.each(&:cancel)
  end

  it "count a body that turns out too large as failed" do
    chunked = ["--header", "transfer-encoding: chunked", "--data", "x" * 1001]
    expect(outcome_of { expect(get("/read", *chunked).status).to eq(413) }).to eq("failed" => 1)
  end

  it "measure durations and the time in the queue" do
    get("/ok")
    histogram = ->(name) { server.admin("/stats/prometheus")[/^envoy_ruvoy_#{name}_count\S* (\d+)$/, 1].to_i }
    %w[duration_ms duration_us queue_us].each do |name|
      wait_until("#{name} is flushed", seconds: 15) { histogram.call(name).positive? }
    end
  end

  it "have true gauges while nothing happens" do
    expect(stat("inflight_requests")).to eq(0)
    idle = wait_until("the reactor is idle") { stat("reactor_idle_ms").nonzero? }
    wait_until("it stays so") { stat("reactor_idle_ms") > idle }
    expect(stat("resident_bytes")).to be_within(40 << 20).of(server.rss_kib * 1024)
  end

  it "are there for Prometheus, with their labels" do
    get("/ok")
    metrics = server.admin("/stats/prometheus")
    expect(metrics).to match(/^envoy_ruvoy_responses_total\{outcome="completed"\} \d+$/)
    expect(metrics).to match(/^envoy_ruvoy_requests_total\S* \d+$/)
    expect(metrics).to match(/^envoy_ruvoy_inflight_requests\S* 0$/)
  end
end
