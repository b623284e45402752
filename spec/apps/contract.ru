# frozen_string_literal: true

# Breaks Rack's contract in each way, so Rack::Lint, which would object first, stays out.

BREACHES = {
  "nil" => nil,
  "two-elements" => [200, {}],
  "status-99" => [99, {}, []],
  "status-word" => ["fine", {}, []],
  "header-crlf" => [200, { "x-a" => "1\r\nx-evil: 1" }, ["x"]],
  "header-name" => [200, { "x a" => "1" }, ["x"]],
  "no-body" => [200, {}, nil],
  "body-of-numbers" => [200, {}, [1, 2]]
}.freeze

# A body that says how long it is and is not.
says_ten = ->(*pieces) { [200, { "content-type" => "text/plain", "content-length" => "10" }, pieces.each] }

map("/short") { run ->(_env) { says_ten.call("12345") } }
map("/long") { run ->(_env) { says_ten.call("12345", "1234567890") } }
map("/hello") { run ->(_env) { [200, {}, ["hello"]] } }
run ->(env) { BREACHES.fetch(env["PATH_INFO"].delete_prefix("/")) }
