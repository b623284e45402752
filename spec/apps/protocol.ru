# frozen_string_literal: true

# What HTTP itself is tried with: echoes, sizes, trailers, hints, and waits.

require "digest"
require_relative "probe"

text = { "content-type" => "text/plain" }
answer = ->(body) { [200, text, [body]] }

use Rack::Lint
map("/probe") { run Probe }
map("/hello") { run ->(_env) { answer.call("hello") } }
map("/echo") { run ->(env) { answer.call(env["rack.input"]&.read.to_s) } }
map("/digest") { run ->(env) { answer.call(Digest::SHA256.hexdigest(env["rack.input"].read)) } }
map("/big") do
  run ->(env) { [200, text, Probe::Body.new { |&chunk| chunk.call("x" * env["QUERY_STRING"].to_i.clamp(0, 1_000_000)) }] }
end
map("/endless") { run ->(_env) { [200, text, Probe::Body.new { |&chunk| loop { chunk.call("x" * 16_384) } }] } }
map("/sleep") { run ->(_env) { Probe.ensured { sleep } } }
map("/read") { run ->(env) { Probe.ensured { answer.call(env["rack.input"].read) } } }
map("/address") { run ->(env) { answer.call("#{env["REMOTE_ADDR"]} #{env["rack.url_scheme"]} #{env["SERVER_PORT"]}") } }
map("/id") { run ->(env) { answer.call(env["HTTP_X_REQUEST_ID"]) } }

# The request's trailers appear with the end of its body; those of the response may be set until its own end.
map("/trailers") do
  run(lambda do |env|
    before = env["ruvoy.trailers"].inspect
    env["rack.input"].read
    body = Enumerator.new do |chunks|
      chunks << "#{before} #{env["ruvoy.trailers"].to_a.sort.inspect}"
      env["ruvoy.trailers"] = { "grpc-status" => "0", "x-sum" => %w[1 2] }
    end
    [200, { "content-type" => "application/grpc" }, body]
  end)
end

map("/hints") do
  run(lambda do |env|
    env["rack.early_hints"].call("link" => ["</a.css>; rel=preload", "</b.js>; rel=preload"])
    env["rack.early_hints"].call("link" => "</c.css>; rel=preload")
    answer.call("hinted")
  end)
end

# Says no before the body has come.
map("/unauthorised") { run ->(_env) { [401, text.merge("www-authenticate" => "Basic"), ["no"]] } }

# An event now, and one when /event is asked for.
EVENTS = Thread::Queue.new
map("/event") { run ->(_env) { answer.call(EVENTS.push("go") && "sent") } }
map("/events") do
  run(lambda do |_env|
    stream = lambda do |out|
      Probe.ensured do
        out << "data: first\n\n"
        out << "data: #{EVENTS.pop}\n\n"
      end
      out.close
    end
    [200, { "content-type" => "text/event-stream", "cache-control" => "no-store" }, stream]
  end)
end
