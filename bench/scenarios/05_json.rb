# frozen_string_literal: true

# An answer of 10 KB that each request generates.

Bench::Scenario.define("json", "JSON of 10 KB, generated", app: "json")
