# frozen_string_literal: true

# A response larger than what fits into a socket's buffer.

Bench::Scenario.define("large", "response of 1 MiB", app: "large", connections: 20)
