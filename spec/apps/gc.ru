# frozen_string_literal: true

# Turns GC.stress on and off and compacts, around requests of every kind.

require "digest"
require_relative "probe"

text = { "content-type" => "text/plain" }

use Rack::Lint
map("/stress") { run ->(env) { [200, text, [(GC.stress = env["QUERY_STRING"] == "on").to_s]] } }
map("/compact") { run ->(_env) { [200, text, [GC.respond_to?(:compact) && GC.compact ? "compacted" : "no"]] } }
map("/array") { run ->(env) { [200, text.merge("x-query" => env["QUERY_STRING"]), %w[a b c]] } }
map("/body") { run ->(_env) { [200, text, Probe::Body.new { |&chunk| 3.times { |number| chunk.call("chunk #{number}\n") } }] } }
map("/stream") do
  run(lambda do |env|
    relay = lambda do |stream|
      stream.write(env["rack.input"].read)
      stream.close
    end
    [200, text, relay]
  end)
end
map("/digest") { run ->(env) { [200, text, [Digest::SHA256.hexdigest(env["rack.input"].read)]] } }
map("/error") { run ->(_env) { raise "under stress" } }
map("/sleep") { run ->(_env) { Probe.ensured { sleep } } }
map("/probe") { run Probe }
