# frozen_string_literal: true

# Records what the callbacks of rack.response_finished are told, for /seen.

require "json"
require_relative "probe"

seen = []

# Three callbacks, of which the middle one fails.
register = lambda do |env, name|
  record = lambda do |place|
    ->(_env, status, _headers, error) { seen << [name, place, status, error&.class&.name] }
  end
  env["rack.response_finished"] << record.call(1) << ->(*) { raise "a callback fails" } << record.call(3)
end
text = { "content-type" => "text/plain" }

endless = Enumerator.new { |chunks| loop { chunks << ("x" * 16_384) } }
broken = Enumerator.new do |chunks|
  chunks << "some of it"
  raise IOError, "midway"
end

responses = {
  "/ok" => -> { [200, text, ["ok"]] }, "/streamed" => -> { [201, text, %w[a b].each] },
  "/error" => -> { raise IOError, "no" }, "/broken" => -> { [200, text, broken] },
  "/endless" => -> { [200, text, endless] }, "/sleep" => -> { sleep }
}

use Rack::Lint
map("/probe") { run Probe }
map("/seen") { run ->(_env) { [200, text, [JSON.generate(seen.slice!(0..))]] } }
run(lambda do |env|
  register.call(env, env["PATH_INFO"])
  Probe.count("registered")
  responses.fetch(env["PATH_INFO"]).call
end)
