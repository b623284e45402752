# frozen_string_literal: true

# Three services in one, each slow in its own way.

SECONDS = { "/profile" => 0.1, "/orders" => 0.2, "/offers" => 0.1 }.freeze

run(lambda do |env|
  path = env["PATH_INFO"]
  sleep SECONDS.fetch(path)
  [200, { "content-type" => "text/plain" }, ["the #{path.delete_prefix("/")}"]]
end)
