# frozen_string_literal: true

# One page out of three slow services, fetched in three ways. The first takes as long as all of them together, the
# others as long as the slowest.
#
#     ruvoy --port 9292 examples/aggregator/services.ru
#     export SERVICES=http://127.0.0.1:9292
#     ruvoy --upstream services=$SERVICES examples/aggregator/config.ru
#     curl -w '%{time_total}\n' http://127.0.0.1:8080/one-after-another
#     curl -w '%{time_total}\n' http://127.0.0.1:8080/upstream
#     curl -w '%{time_total}\n' http://127.0.0.1:8080/offload

require "json"
require "net/http"
require "ruvoy"

PATHS = %w[/profile /orders /offers].freeze
# Of each kind of blocking client no more at once than its service can stand.
CLIENTS = Ruvoy::Offload.new(limit: 16)

page = lambda do |parts|
  [200, { "content-type" => "application/json" }, [JSON.generate(PATHS.zip(parts).to_h), "\n"]]
end

map "/one-after-another" do
  run ->(env) { page.call(PATHS.map { |path| env["ruvoy.upstream"].call("services", "GET", path).last }) }
end

map "/upstream" do
  run(lambda do |env|
    tasks = PATHS.map { |path| Async { env["ruvoy.upstream"].call("services", "GET", path).last } }
    page.call(tasks.map(&:wait))
  end)
end

# The same with a client that blocks its thread.
map "/offload" do
  services = URI(ENV.fetch("SERVICES"))
  run(lambda do |_env|
    tasks = PATHS.map { |path| Async { CLIENTS.call { Net::HTTP.get(services + path) } } }
    page.call(tasks.map(&:wait))
  end)
end
