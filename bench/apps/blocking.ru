# frozen_string_literal: true

# Waits for 50 ms as a C extension does that knows no fiber scheduler.

run lambda { |_env|
  Fiber.blocking { sleep 0.05 }
  [200, { "content-type" => "text/plain", "content-length" => "6" }, ["slept\n"]]
}
