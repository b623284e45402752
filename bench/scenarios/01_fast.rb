# frozen_string_literal: true

# The least that an application can do: what the servers themselves cost. The targets are about this one.

Bench::Scenario.define("fast", "no-op, 100 connections", body: "hello\n")
