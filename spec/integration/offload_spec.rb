# frozen_string_literal: true

# Blocking C calls against a real PostgreSQL: offloaded they hold up nobody, on the owner thread they hold up everybody.

require "support/integration"
require "support/postgres_process"

RSpec.describe "offload" do
  if (missing = PostgresProcess.missing)
    before { skip missing }
  else
    before(:context) do
      @postgres = PostgresProcess.start
      @server = EnvoyProcess.start(rackup: "offload", environment: { "DATABASE_URL" => @postgres.url })
    end
    after(:context) { [@server, @postgres].each { |process| process&.stop } }
  end

  attr_reader :server, :postgres

  before { order }

  def stats = JSON.parse(get("/stats").body, symbolize_names: true)

  # @return [Array<String>] the requests that ended since this was last asked for, in their order
  def order = JSON.parse(get("/order").body)

  # Runs the block while the calls to /held wait inside of libpq.
  def hold
    postgres.connect do |connection|
      connection.exec("select pg_advisory_lock(1)")
      yield
    ensure
      connection.exec("select pg_advisory_unlock(1)")
    end
  end

  def total_requests = server.stats.fetch("http.ruvoy.downstream_rq_total")

  # Sends 200 requests, then plain ones until those are answered.
  # @return [Array<String>] the order in which all of them ended
  def race(path)
    before = total_requests
    requests = Array.new(200) { |number| exchange(number.even? ? :h1 : :h2, path) }
    wait_until("Envoy has them all") { total_requests == before + 200 }
    get("/plain")
    expect(requests.map(&:status)).to all(eq(200))
    requests.each(&:close)
    order
  end

  # pg's own sync_exec releases the VM lock only up to 1.6. Since then nothing runs meanwhile, whatever thread it is on.
  { "libpq" => nil, "pg" => Gem::Version.new("1.7") }.each do |client, keeps_lock|
    it "lets a plain request pass 200 calls of 50 ms through #{client}, which it cannot without" do
      skip "pg #{PG::VERSION} keeps the VM lock in sync_exec" if keeps_lock&.<=(Gem::Version.new(PG::VERSION))

      offloaded = race("/#{client}/offloaded")
      blocking = race("/#{client}/blocking")
      expect(offloaded.tally).to eq("offloaded" => 200, "plain" => 1)
      expect(blocking.tally).to eq("blocking" => 200, "plain" => 1)
      expect(blocking.last).to eq("plain")
      expect(offloaded.last).to eq("offloaded")
    end
  end

  it "answers plain requests however long calls wait, and has as many calls in flight as the limit says" do
    held = hold do
      holding = Array.new(40) { |number| exchange(number.even? ? :h1 : :h2, "/held") }
      wait_until("all are called") { stats.values_at(:running, :waiting) == [16, 24] }
      30.times { |number| expect(get("/plain", version: number.even? ? :h1 : :h2).body).to eq("plain") }
      expect(order).to eq(["plain"] * 30)
      holding
    end
    expect(held.map(&:body)).to eq(["held"] * 40)
    expect(stats).to include(running: 0, waiting: 0)
  end

  it "serves callers that wait in their order" do
    held = hold do
      holding = Array.new(16) { exchange(:h1, "/held") }
      wait_until("they run") { stats[:running] == 16 }
      holding + Array.new(8) do |number|
        exchange(:h1, "/storage?#{number}").tap { wait_until("it waits") { stats[:waiting] == number + 1 } }
      end
    end
    expect(held.map(&:body)).to eq((["held"] * 16) + (0...8).map(&:to_s))
  end

  it "has any number of threads without a pool" do
    requests = Array.new(20) { exchange(:h1, "/anyhow") }
    expect(requests.map(&:body)).to eq(["anyhow"] * 20)
  end

  it "lets a call end whose client has left, and then the fiber" do
    before = server.probe
    hold do
      request = exchange(:h2, "/held")
      wait_until("it runs") { stats[:running] == 1 }
      request.cancel
      expect(get("/plain").body).to eq("plain")
      wait_until("Envoy has no other request") { server.active_requests.zero? }
      expect([stats[:running], server.probe["ensured"] - before["ensured"]]).to eq([1, 0])
    end
    wait_until("its fiber ends") { server.probe["ensured"] == before["ensured"] + 1 }
    expect(server.probe["inflight"]).to eq(1)
    expect(stats).to include(running: 0, waiting: 0)
    expect(order).to eq(["plain"])
  end

  it "withdraws calls that wait when their clients leave" do
    before = stats
    held = hold do
      holding = Array.new(16) { exchange(:h1, "/held") }
      wait_until("they run") { stats[:running] == 16 }
      leaving = Array.new(50) { |number| exchange(number.even? ? :h1 : :h2, "/held") }
      wait_until("they wait") { stats[:waiting] == 50 }
      leaving.each(&:cancel)
      wait_until("none waits") { stats[:waiting].zero? }
      expect(stats[:running]).to eq(16)
      holding
    end
    expect(held.map(&:body)).to eq(["held"] * 16)
    expect(stats[:done]).to eq(before[:done] + 16)
  end

  it "applies a timeout after the call" do
    request = hold do
      exchange(:h1, "/timeout").tap do
        wait_until("it runs") { stats[:running] == 1 }
        3.times { expect(get("/plain").body).to eq("plain") }
        expect(stats[:running]).to eq(1)
      end
    end
    expect(request.body).to eq("timed out with 0 running")
  end

  it "takes each request's fiber storage along" do
    requests = Array.new(50) { |number| exchange(:h1, "/storage?#{number}") }
    expect(requests.map(&:body)).to eq((0...50).map(&:to_s))
  end

  it "answers 500 when the call fails, and logs the block's backtrace and the caller's" do
    answer = get("/failure")
    expect([answer.status, answer["x-ruvoy-error"], answer.body]).to eq([500, "application", "Internal Server Error\n"])
    wait_until("it is logged") { server.log.include?("no_such_column") }
    report = server.log.split(/(?=GET \S+: the application failed)/).grep(%r{\AGET /failure}).last
    expect(report).to match(/column "no_such_column" does not exist.*\(Libpq::Error\)/m)
    expect(report).to match(%r{libpq\.rb:\d+:in .*sync_exec.*offload\.ru:\d+:in .*lib/ruvoy/adapter\.rb:}m)
  end

  it "lets throw reach the request's catch" do
    expect(get("/halt").body).to eq("halted")
  end

  it "survives a block that ends its thread" do
    20.times { expect(get("/exit").status).to eq(500) }
    expect(get("/storage?alive").body).to eq("alive")
    expect(stats).to include(running: 0, waiting: 0)
  end

  it "keeps no more threads than the limit" do
    before = server.probe["threads"]
    requests = Array.new(100) { exchange(:h1, "/libpq/offloaded") }
    expect(requests.map(&:status)).to all(eq(200))
    expect(server.probe["threads"]).to be <= before + 16
  end

  it "lets the server end in spite of calls that do not" do
    ending = EnvoyProcess.start(rackup: "offload", environment: { "DATABASE_URL" => postgres.url },
                                filter: { "limits" => { "shutdown_timeout_ms" => 200 } })
    hold do
      Array.new(20) { HTTP1::Exchange.new(ending, "GET", "/held") }
      wait_until("they are called") { curl(ending, "/stats").body == '{"running":16,"waiting":4,"done":0}' }
      expect(ending.stop).to be_success
    end
    expect(ending.log).not_to match(/\[(error|critical)\]/)
  end
end
