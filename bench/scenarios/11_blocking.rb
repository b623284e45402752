# frozen_string_literal: true

# A wait of 50 ms of which the fiber scheduler does not hear: it holds up a server of fibers.

Bench::Scenario.define(
  "blocking", "a call that blocks for 50 ms",
  app: "blocking", note: "the limit of fibers; see offload"
)
