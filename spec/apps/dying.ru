# frozen_string_literal: true

# Kills the reactor that it runs on.

use Rack::Lint
map("/sleep") { run ->(_env) { sleep } }

# The scheduler hands the exception to whoever waits in its loop, which is no request.
map("/kill") do
  run(lambda do |_env|
    owner = Thread.current
    Thread.new { owner.raise(NoMemoryError, "the reactor was killed") }
    sleep
  end)
end
