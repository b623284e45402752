# frozen_string_literal: true

# PostgreSQL in two ways that hold up no other request: pg's blocking calls on threads, and its own waiting for fibers.
#
#     DATABASE_URL=postgresql://localhost/postgres ruvoy examples/postgres/config.ru
#     curl localhost:8080/threads localhost:8080/fibers

require "pg"
require "ruvoy"

# A bounded number of connections, opened when they are first needed. One whose query did not come to its end is closed.
class Connections
  def initialize(url, size)
    @url = url
    @places = Thread::Queue.new(Array.new(size))
  end

  # Waits for a free connection: the fiber does in a request, the thread in an offloaded block.
  def use
    connection = @places.pop
    begin
      connection ||= PG.connect(@url)
      value = yield connection
      kept = connection
      value
    ensure
      connection&.close unless kept
      @places << kept
    end
  end
end

SIZE = 16
QUERY = "select pg_sleep(0.05), current_setting('server_version')"
CONNECTIONS = Connections.new(ENV.fetch("DATABASE_URL", ""), SIZE)
DATABASE = Ruvoy::Offload.new(limit: SIZE)

# `sync_exec` waits inside of libpq, where Ruby's scheduler does not hear of it. From 1.7 on pg keeps Ruby's VM lock
# meanwhile, which no thread helps against; then it is `exec`, which blocks too on a thread that has no scheduler.
BLOCKING = Gem::Version.new(PG::VERSION) < Gem::Version.new("1.7") ? :sync_exec : :exec

page = ->(result) { [200, { "content-type" => "text/plain" }, ["PostgreSQL #{result.getvalue(0, 1)}\n"]] }

# Blocks one of 16 threads. What to do with a library that waits by itself, or that ties its connections to threads.
map("/threads") do
  run ->(_env) { page.call(DATABASE.call { CONNECTIONS.use { |pg| pg.public_send(BLOCKING, QUERY) } }) }
end

# `exec` waits through Ruby's scheduler, and so parks the request's fiber: no thread is needed. What to do with pg.
map("/fibers") do
  run ->(_env) { page.call(CONNECTIONS.use { |pg| pg.exec(QUERY) }) }
end
