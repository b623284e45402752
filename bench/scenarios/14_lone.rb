# frozen_string_literal: true

# One client with one connection: the latency of a request that is alone.

Bench::Scenario.define(
  "lone", "no-op, one connection",
  connections: 1, body: "hello\n", note: "a request crosses threads twice here"
)
