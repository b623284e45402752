# frozen_string_literal: true

# Calls that block inside of a C library, on the owner thread and offloaded; the order in which they ended is kept.

require "json"
require "pg"
require_relative "libpq"
require_relative "probe"

LIMIT = 16
POOL = Ruvoy::Offload.new(limit: LIMIT)
ORDER = [] # rubocop:disable Style/MutableConstant
text = { "content-type" => "text/plain" }

# As many connections as there are calls at once, made by the calls on their threads.
class Database
  # @yield makes a connection that has sync_exec
  def initialize(&connect)
    @connect = connect
    @places = Thread::Queue.new(Array.new(LIMIT))
  end

  def query(sql)
    connection = @places.pop || @connect.call
    connection.sync_exec(sql)
  ensure
    @places << connection
  end

  def sleep = query("select pg_sleep(0.05)")

  # Waits inside of libpq for as long as the spec holds the lock.
  def wait = query("select pg_advisory_xact_lock_shared(1)")
end

LIBPQ = Database.new { Libpq::Connection.new(ENV.fetch("DATABASE_URL")) }
GEM = Database.new { PG.connect(ENV.fetch("DATABASE_URL")) }

done = lambda do |name|
  ORDER << name
  [200, text, [name]]
end

use Rack::Lint
map("/probe") { run Probe }

map("/order") do
  run(lambda do |_env|
    order = ORDER.dup
    ORDER.clear
    [200, text, [order.to_json]]
  end)
end

map("/stats") { run ->(_env) { [200, text, [POOL.stats.to_json]] } }
map("/plain") { run ->(_env) { done.call("plain") } }

{ "libpq" => LIBPQ, "pg" => GEM }.each do |name, database|
  map("/#{name}/blocking") { run ->(_env) { database.sleep && done.call("blocking") } }
  map("/#{name}/offloaded") { run ->(_env) { POOL.call { database.sleep } && done.call("offloaded") } }
end
map("/anyhow") { run ->(_env) { Ruvoy.offload { LIBPQ.sleep } && done.call("anyhow") } }

map("/held") do
  run ->(_env) { Probe.ensured { POOL.call { LIBPQ.wait } && done.call("held") } }
end

map("/timeout") do
  run(lambda do |_env|
    Async::Task.current.with_timeout(0.001) { POOL.call { LIBPQ.wait } }
  rescue Async::TimeoutError
    done.call("timed out with #{POOL.stats[:running]} running")
  end)
end

map("/storage") do
  run(lambda do |env|
    Fiber[:name] = env["QUERY_STRING"]
    [200, text, [POOL.call { [Fiber[:name], LIBPQ.query("select pg_sleep(0.001)")].first }]]
  end)
end

map("/failure") { run ->(_env) { POOL.call { LIBPQ.query("select no_such_column") } } }
map("/halt") { run ->(_env) { catch(:halt) { POOL.call { throw :halt, [200, text, ["halted"]] } } } }
map("/exit") { run ->(_env) { POOL.call { Thread.exit } } }
