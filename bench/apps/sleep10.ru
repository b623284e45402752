# frozen_string_literal: true

# Waits for 10 ms.

run lambda { |_env|
  sleep 0.01
  [200, { "content-type" => "text/plain", "content-length" => "6" }, ["slept\n"]]
}
