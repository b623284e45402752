# frozen_string_literal: true

# Waits for 200 ms.

run lambda { |_env|
  sleep 0.2
  [200, { "content-type" => "text/plain", "content-length" => "6" }, ["slept\n"]]
}
