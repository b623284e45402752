# frozen_string_literal: true

# Waits for 50 ms on a thread of a pool of 100, where the scheduler's fibers are not held up.

require "ruvoy"

pool = Ruvoy::Offload.new(limit: 100)

run lambda { |_env|
  pool.call { Fiber.blocking { sleep 0.05 } }
  [200, { "content-type" => "text/plain", "content-length" => "6" }, ["slept\n"]]
}
