# frozen_string_literal: true

# A small application of a framework that many use.

Bench::Scenario.define("sinatra", "Sinatra hello", app: "sinatra")
