# frozen_string_literal: true

# What only Envoy can give: the connection behind a request, and two calls at once through Envoy's own client.
#
#     ruvoy --port 9292 examples/extensions/service.ru
#     ruvoy --context --upstream service=http://127.0.0.1:9292 examples/extensions/config.ru
#     curl http://127.0.0.1:8080/

require "json"

run(lambda do |env|
  upstream = env["ruvoy.upstream"]
  # Each task waits for its own answer; the other goes on meanwhile, and so does every other request.
  forecast = Async { upstream.call("service", "GET", "/forecast") }
  tides = Async { upstream.call("service", "GET", "/tides") }
  answers = { forecast: forecast.wait, tides: tides.wait }

  page = { context: env["ruvoy.context"].to_h, answers: answers.transform_values { |status, _, body| [status, body] } }
  [200, { "content-type" => "application/json" }, [JSON.pretty_generate(page), "\n"]]
end)
