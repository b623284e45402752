# frozen_string_literal: true

# Requests that a client may leave at any moment; /probe tells what became of them.

require_relative "probe"

CHUNK = ("x" * 16_384).freeze
text = { "content-type" => "text/plain" }

use Rack::Lint
map("/probe") { run Probe }

# Holds the owner thread itself until the spec opens the pipe for writing.
map("/block") do
  pipe = File.join(ENV.fetch("RUVOY_SPEC_DIR"), "pipe")
  run ->(_env) { [200, text, [Fiber.blocking { File.read(pipe) }]] }
end

map("/mark") do
  run(lambda do |_env|
    Probe.count("marked")
    [200, text, ["marked"]]
  end)
end

map("/sleep") { run ->(_env) { Probe.ensured { sleep } } }
map("/sleep-in-body") { run ->(_env) { [200, text, Probe::Body.new { |_chunk| sleep }] } }
map("/sleep-after-chunk") do
  run(lambda do |_env|
    body = Probe::Body.new do |&chunk|
      chunk.call("first")
      sleep
    end
    [200, text, body]
  end)
end
map("/read") { run ->(env) { Probe.ensured { [200, text, [env["rack.input"].read.bytesize.to_s]] } } }
map("/read-in-body") do
  run ->(env) { [200, text, Probe::Body.new { |&chunk| chunk.call(env["rack.input"].read) }] }
end
map("/write") { run ->(_env) { [200, text, Probe::Body.new { |&chunk| loop { chunk.call(CHUNK) } }] } }
map("/write-stream") do
  run(lambda do |_env|
    endless = ->(stream) { Probe.ensured { loop { stream.write(CHUNK) } } }
    [200, text, endless]
  end)
end

# A child task of the request.
map("/child") { run ->(_env) { Probe.ensured { Async { Probe.ensured { sleep } }.wait } } }
