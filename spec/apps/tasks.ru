# frozen_string_literal: true

# Uses Async inside of requests, and Fiber[] storage.

require "json"

text = { "content-type" => "text/plain" }

use Rack::Lint
map("/current") { run ->(_env) { [200, text, [Async::Task.current.running?.to_s]] } }
map("/children") do
  run(lambda do |_env|
    order = Thread::Queue.new
    tasks = Array.new(3) do |number|
      Async do
        sleep(0.002 * (3 - number))
        order << number
        number
      end
    end
    values = tasks.map(&:wait)
    [200, text, ["#{values.inspect} in the order #{Array.new(3) { order.pop }.inspect}"]]
  end)
end
map("/timeout") do
  run(lambda do |_env|
    Async::Task.current.with_timeout(0.005) { sleep }
  rescue Async::TimeoutError
    [200, text, ["timed out"]]
  end)
end

# Children that nobody waits for do not outlive their request's answer by more than they need.
map("/background") { run ->(_env) { Async { sleep(0.001) } && [200, text, ["answered"]] } }

map("/storage") do
  run(lambda do |env|
    before = Fiber[:name]
    Fiber[:name] = env["QUERY_STRING"]
    local = Thread.current[:name]
    Thread.current[:name] = env["QUERY_STRING"]
    sleep(0.001)
    [200, text, [[before, local, Fiber[:name], Thread.current[:name]].to_json]]
  end)
end
