# frozen_string_literal: true

# Requests that end in each of the ways that the statistics tell apart.

text = { "content-type" => "text/plain" }

use Rack::Lint
map("/ok") { run ->(_env) { [200, text, ["ok"]] } }
map("/missing") { run ->(_env) { [404, text, ["missing"]] } }
map("/own-error") { run ->(_env) { [500, text, ["the application's own"]] } }
map("/raise") { run ->(_env) { raise "failed" } }
map("/body") do
  run ->(_env) { [200, text, Enumerator.new { |chunks| (chunks << "some") && raise("failed") }] }
end
map("/stream") { run ->(_env) { [200, text, Enumerator.new { |chunks| 3.times { chunks << "some" } }] } }
map("/read") { run ->(env) { [200, text, [env["rack.input"].read]] } }
map("/sleep") do
  run ->(_env) { [200, text, Enumerator.new { |chunks| (chunks << "asleep") && sleep }] }
end
