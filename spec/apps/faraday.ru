# frozen_string_literal: true

# Calls upstream services through Faraday; each path is one way to do so.

require "json"
require "ruvoy/faraday"

answer = ->(response) { { status: response.status, headers: response.headers, body: response.body } }
json = ->(value) { [200, { "content-type" => "application/json" }, [JSON.generate(value)]] }

SERVICE = Faraday.new("http://service") { |faraday| faraday.adapter :ruvoy }
OUTSIDE = begin
  SERVICE.get("/echo")
rescue Faraday::ConnectionFailed => e
  e.message
end

use Rack::Lint
map("/get") { run ->(_env) { json.call(answer.call(SERVICE.get("/echo", { "a" => "b c" }, { "x-own" => "1" }))) } }
map("/post") { run ->(_env) { json.call(answer.call(SERVICE.post("/echo", "12345"))) } }
map("/file") { run ->(_env) { json.call(answer.call(SERVICE.put("/echo", File.open(__FILE__, "rb")))) } }
map("/cookies") { run ->(_env) { json.call(answer.call(SERVICE.get("/cookies"))) } }
map("/outside") { run ->(_env) { json.call(OUTSIDE) } }

map("/together") do
  run(lambda do |_env|
    tasks = Array.new(3) { Async { SERVICE.get("/gate").body } }
    json.call(tasks.map(&:wait))
  end)
end

map("/stream") do
  run(lambda do |_env|
    seen = []
    SERVICE.get("/bytes/200000") do |request|
      request.options.on_data = proc { |chunk, total, env| seen << [chunk.bytesize, total, env.status] }
    end
    json.call(bytes: seen.sum(&:first), last: seen.last)
  end)
end

map("/timeout") do
  run ->(_env) { json.call(answer.call(SERVICE.get("/stall") { |request| request.options.timeout = 0.05 })) }
end

map("/errors") do
  run(lambda do |_env|
    errors = %w[http://empty/ http://nowhere/].map do |url|
      Faraday.new { |faraday| faraday.adapter :ruvoy }.get(url)
    rescue Faraday::Error, ArgumentError => e
      [e.class.name, e.message]
    end
    json.call(errors)
  end)
end

map("/explicit") do
  run(lambda do |env|
    faraday = Faraday.new("http://service") { |one| one.adapter :ruvoy, upstream: env["ruvoy.upstream"] }
    json.call(answer.call(faraday.head("/echo")))
  end)
end
