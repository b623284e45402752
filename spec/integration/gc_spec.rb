# frozen_string_literal: true

# Every kind of request under GC.stress and between compactions: nothing that Rust holds is freed or moved under it.

require "support/integration"

RSpec.describe "garbage collection" do
  serve "gc"

  def array(version) = get("/array?q=1", version: version).then { |answer| [answer.status, answer["x-query"], answer.body] }

  # Each kind of request once, with its expected outcome.
  def round(version)
    upload = SecureRandom.bytes(40_000)
    expect(array(version)).to eq([200, "q=1", "abc"])
    expect(get("/body", version: version).body).to eq("chunk 0\nchunk 1\nchunk 2\n")
    expect(exchange(version, "/stream", verb: "POST", body: "relayed").body).to eq("relayed")
    expect(exchange(version, "/digest", verb: "POST", body: upload).body).to eq(Digest::SHA256.hexdigest(upload))
    expect(get("/error", version: version).status).to eq(500)
    expect(get("/nowhere", version: version).status).to eq(404)
  end

  def leave(version)
    started = server.probe["started"]
    request = exchange(version, "/sleep")
    wait_until("the application has the request") { server.probe["started"] > started }
    request.cancel
    wait_until("its ensure ran") { server.probe["ensured"] > started }
  end

  %i[h1 h2].each do |version|
    it "may run at every allocation over #{version}" do
      expect(get("/stress?on").body).to eq("true")
      round(version)
      leave(version)
      expect(get("/stress?off").body).to eq("false")
    end

    it "may move objects between requests over #{version}" do
      3.times do
        expect(get("/compact").body).to eq("compacted")
        round(version)
        leave(version)
      end
    end
  end
end
