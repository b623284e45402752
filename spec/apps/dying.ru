# frozen_string_literal: true

# Troubles the reactor that it runs on.

text = { "content-type" => "text/plain" }

use Rack::Lint
map("/sleep") { run ->(_env) { sleep } }

# Every further turn of the loop fails.
map("/ruin") do
  run(lambda do |_env|
    Fiber.scheduler.instance_variable_get(:@selector).close
    sleep
  end)
end

# An exception from another thread strikes the loop, or whichever fiber runs.
map("/strike") do
  run(lambda do |_env|
    owner = Thread.current
    Thread.new { owner.raise(NoMemoryError, "struck") }.join
    [200, text, ["unharmed"]]
  end)
end
