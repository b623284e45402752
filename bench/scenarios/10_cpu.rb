# frozen_string_literal: true

# An application that computes for about 2 ms in Ruby: no server of one process can be faster than that.

Bench::Scenario.define("cpu", "2 ms of Ruby code", app: "cpu", note: "bound by Ruby's global lock")
