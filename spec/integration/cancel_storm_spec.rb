# frozen_string_literal: true

# Two thousand clients that leave at random moments leave a healthy server with flat figures.

require "support/integration"

RSpec.describe "a storm of cancels" do
  serve "cancel", concurrency: 2

  paths = %w[/sleep /child /sleep-in-body /sleep-after-chunk /read /read-in-body /write /write-stream /mark]

  # @return [Hash] what must not grow
  def figures
    wait_until("only the probe is in flight") { server.probe["inflight"] == 1 }
    wait_until("Envoy has nothing in hand") { server.active_requests.zero? }
    probe = server.probe
    { descriptors: wait_until_steady("descriptors") { server.fd_count }, threads: server.thread_count,
      ruby_threads: probe["threads"], fibers: probe["fibers"] }
  end

  # Eight clients at once, each with its own seed.
  def storm(cancels, paths)
    Array.new(8) do |number|
      random = Random.new(RSpec.configuration.seed + number)
      Thread.new { (cancels / 8).times { leave(random, paths) } }
    end.each(&:join)
  end

  def leave(random, paths)
    path = paths.sample(random: random)
    upload = path.start_with?("/read")
    request = exchange(%i[h1 h2].sample(random: random), path, verb: upload ? "POST" : "GET", body: (:stream if upload))
    request.write("half") if upload
    request.readable?(random.rand * 0.02)
    request.cancel
  end

  it "leaves figures flat and the server healthy" do
    storm(200, paths)
    before = figures
    storm(2000, paths)
    expect(figures).to match(descriptors: be <= before[:descriptors] + 2, threads: be <= before[:threads],
                             ruby_threads: be <= before[:ruby_threads], fibers: be <= before[:fibers] + 2)
    probe = server.probe
    expect(probe["ensured"]).to eq(probe["started"])
    expect(probe["closed_again"]).to eq(0)
    expect(get("/mark").body).to eq("marked")
  end
end
