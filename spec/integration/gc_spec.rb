# frozen_string_literal: true

# Every kind of request under GC.stress and between compactions: nothing that Rust holds is freed or moved under it.

require "securerandom"
require "support/integration"

RSpec.describe "garbage collection" do
  serve "gc"

  # Each kind of request once, with its expected outcome.
  def round(version)
    upload = SecureRandom.bytes(40_000)
    answers = %w[/array?q=1 /body /error /nowhere].map { |path| exchange(version, path) }
    echoes = [%w[/stream relayed], ["/digest", upload]].map do |path, body|
      exchange(version, path, verb: "POST", body: body)
    end
    expect(answers.map(&:status)).to eq([200, 200, 500, 404])
    expect(answers.first.head["x-query"]).to eq("q=1")
    expect(answers.first(2).map(&:body)).to eq(["abc", "chunk 0\nchunk 1\nchunk 2\n"])
    expect(echoes.map(&:body)).to eq(["relayed", Digest::SHA256.hexdigest(upload)])
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
