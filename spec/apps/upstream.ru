# frozen_string_literal: true

# Calls upstream services as the query tells it to: JSON of the arguments, answered with JSON of what came of them.

require "json"
require "uri"
require_relative "probe"

# What the requests have in common.
class Calls
  def initialize(&app) = @app = app

  def call(env)
    @app.call(env["ruvoy.upstream"], plan(env), env)
  rescue StandardError => e
    [200, { "content-type" => "application/json" }, [JSON.generate(error: e.class.name, message: e.message)]]
  end

  def plan(env)
    text = URI.decode_www_form_component(env["QUERY_STRING"])
    plan = text.empty? ? {} : JSON.parse(text, symbolize_names: true)
    plan[:headers] = plan[:headers].transform_keys(&:to_s) if plan[:headers].is_a?(Hash)
    plan
  end

  class << self
    # @return [Hash] an answer
    def answer(upstream, plan)
      status, headers, body = upstream.call(*plan.values_at(:cluster, :method, :path), **options(plan))
      { status: status, headers: headers, body: body }
    end

    def stream(upstream, plan)
      upstream.stream(*plan.values_at(:cluster, :method, :path), **options(plan))
    end

    def options(plan) = plan.slice(:headers, :body, :timeout, :protocol)

    def text(value) = [200, { "content-type" => "text/plain" }, [value]]
    def json(value) = [200, { "content-type" => "application/json" }, [JSON.generate(value)]]
  end
end

# Lint wraps the bodies of responses, and one that is an upstream's goes another way without.
use Rack::Lint unless ENV.key?("RUVOY_SPEC_BARE")
map("/probe") { run Probe }
map("/context") { run ->(env) { Calls.json(env["ruvoy.context"].to_h) } }
map("/call") { run(Calls.new { |upstream, plan| Calls.json(Calls.answer(upstream, plan)) }) }
map("/stream") { run(Calls.new { |upstream, plan| Calls.stream(upstream, plan) }) }
map("/upload") do
  run(Calls.new { |upstream, plan, env| Calls.json(Calls.answer(upstream, { **plan, body: env["rack.input"] })) })
end
map("/proxy") do
  run(Calls.new { |upstream, plan, env| Calls.stream(upstream, { **plan, body: env["rack.input"] }) })
end

# Several calls at once, in tasks of their own.
map("/together") do
  run(Calls.new do |upstream, plan|
    tasks = plan[:calls].map { |one| Async { Calls.answer(upstream, { **plan, **one }) } }
    Calls.json(tasks.map(&:wait))
  end)
end

# So many calls one after the other; answers how many had this status.
map("/many") do
  run(Calls.new do |upstream, plan|
    Calls.json(plan[:count].times.count { Calls.answer(upstream, plan)[:status] == 200 })
  end)
end

# A call that is given up, and one after it.
map("/given-up") do
  run(Calls.new do |upstream, plan|
    first = begin
      Async::Task.current.with_timeout(plan[:patience]) { Calls.answer(upstream, { **plan, path: "/stall" }) }
    rescue Async::TimeoutError
      "given up"
    end
    Calls.json([first, Calls.answer(upstream, plan)[:status]])
  end)
end

# A body that counts how it is closed while it is sent up.
map("/failing-upload") do
  run(Calls.new do |upstream, plan|
    body = Enumerator.new do |chunks|
      chunks << "first"
      raise "the body failed"
    end
    Calls.json(Calls.answer(upstream, { **plan, body: body }))
  end)
end
map("/endless-upload") do
  run(Calls.new do |upstream, plan|
    body = Enumerator.new { |chunks| loop { chunks << ("x" * 65_536) } }
    Calls.json(Calls.answer(upstream, { **plan, body: body }))
  end)
end

map("/thread") do
  run(Calls.new { |upstream, plan| Calls.json(Thread.new { Calls.answer(upstream, plan) }.value) })
end
map("/offload") do
  run(Calls.new { |upstream, plan| Calls.json(Ruvoy.offload { Calls.answer(upstream, plan) }) })
end

# A task that outlives its request and calls, or waits, when that is over; /late-outcomes tells what came of it.
outcomes = []
map("/late") do
  run(Calls.new do |upstream, plan|
    Async::Task.current.reactor.async do
      sleep(0.01) until outcomes.delete(:go) || plan[:at_once]
      outcomes << Calls.answer(upstream, plan)
    rescue StandardError => e
      outcomes << { error: e.class.name, message: e.message }
    end
    Calls.text("answered")
  end)
end
map("/late-go") do
  run(lambda do |_env|
    outcomes << :go
    Calls.text("gone")
  end)
end
map("/late-outcomes") { run ->(_env) { Calls.json(outcomes.grep(Hash)) } }

# Waits for an answer that does not come, and says when it was interrupted.
map("/waiting") { run(Calls.new { |upstream, plan| Probe.ensured { Calls.json(Calls.answer(upstream, plan)) } }) }

# Reads a stream only when told to.
gates = []
map("/lagging") do
  run(Calls.new do |upstream, plan|
    _, _, body = Calls.stream(upstream, plan)
    Probe.count("lagging")
    sleep(0.01) until gates.pop
    total = 0
    body.each { |chunk| total += chunk.bytesize }
    Calls.json(total)
  end)
end
map("/go") do
  run(lambda do |_env|
    gates << true
    Calls.text("gone")
  end)
end
