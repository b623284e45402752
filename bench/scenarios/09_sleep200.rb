# frozen_string_literal: true

# An application that waits long, as for another service.

Bench::Scenario.define(
  "sleep200", "sleep of 200 ms, 100 connections",
  app: "sleep200", note: "at most 500 requests/s are possible"
)
