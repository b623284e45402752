# frozen_string_literal: true

# HTTP/2 as a demanding or hostile client speaks it, with python3-h2 as the client; see spec/python/http2.py.

require "json"
require "support/integration"
require "support/python"

RSpec.describe "HTTP/2" do
  serve "protocol"

  def play(scenario)
    output, status = Python.program("http2", server.port, scenario)
    expect(status).to be_success, output
    JSON.parse(output)
  end

  # Waits until only the probe is in flight.
  def probe_at_rest
    wait_until("only the probe is in flight") { server.probe["inflight"] == 1 }
    server.probe
  end

  it "keeps interleaved streams apart" do
    expect(play("interleaved")).to eq("equal" => 40)
  end

  it "heeds a window of one byte, and goes on with other streams" do
    expect(play("narrow")).to eq("steps" => [1], "ended" => true, "meanwhile" => "200")
  end

  it "takes RST_STREAM at each stage" do
    before = probe_at_rest
    expect(play("resets")).to eq("afterwards" => ["hello"] * 7)
    after = probe_at_rest
    expect(after["started"]).to be > before["started"]
    expect(after["ensured"] - before["ensured"]).to eq(after["started"] - before["started"])
    expect(after["closed_again"]).to eq(0)
  end

  it "carries trailers both ways, repeated ones too" do
    expect(play("trailers")).to eq(
      "status" => "200", "body" => 'nil [["x-first", "1"], ["x-second", "2"]]',
      "trailers" => [%w[grpc-status 0], %w[x-sum 1], %w[x-sum 2]]
    )
  end

  it "sends early hints" do
    expect(play("hints")).to eq(
      "interim" => [["103", "</a.css>; rel=preload", "</b.js>; rel=preload"],
                    ["103", "</c.css>; rel=preload"]], "body" => "hinted"
    )
  end

  it "resets streams whose bodies belie their content-length" do
    protocol_error = 1
    expect(play("lengths")).to eq("short" => protocol_error, "long" => protocol_error, "afterwards" => "hello")
  end

  it "resets malformed requests" do
    answers = play("malformed")
    expect(answers.delete("afterwards")).to eq("hello")
    expect(answers.delete("two hosts")).to eq("400")
    # The scheme that the client claims does not count; the connection's does.
    expect(answers.delete("other scheme")).to eq("200")
    expect(answers.values.uniq).to eq(["reset"])
  end

  it "survives a flood of resets while others are served" do
    flood = Thread.new { play("rapid") }
    statuses = []
    statuses << get("/hello").status while flood.alive? || statuses.size < 10
    expect(flood.value["sent"]).to be >= 4000
    expect(statuses.uniq).to eq([200])
    expect(probe_at_rest["fibers"]).to be < 20
  end
end
