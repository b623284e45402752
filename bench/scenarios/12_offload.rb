# frozen_string_literal: true

# The same wait, in Ruvoy.offload with as many threads as Puma has.

Bench::Scenario.define("offload", "a call that blocks for 50 ms, offloaded", app: "offload")
