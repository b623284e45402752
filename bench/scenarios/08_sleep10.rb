# frozen_string_literal: true

# An application that waits a little, as for a cache or a near database.

Bench::Scenario.define(
  "sleep10", "sleep of 10 ms, 400 connections",
  app: "sleep10", connections: 400, note: "at most 40,000 requests/s are possible"
)
