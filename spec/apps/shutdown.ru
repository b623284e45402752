# frozen_string_literal: true

# Leaves marks in files when it ends, for the time after the server's end.

mark = ->(name) { File.write(File.join(ENV.fetch("RUVOY_SPEC_DIR"), name), "done") }

at_exit { mark.call("at_exit") }

use Rack::Lint
map("/sleep") do
  run(lambda do |_env|
    mark.call("started")
    sleep
  ensure
    mark.call("ensured")
  end)
end
map("/read") do
  run(lambda do |env|
    mark.call("started")
    [200, { "content-type" => "text/plain" }, ["read #{env["rack.input"].read}"]]
  end)
end
map("/stubborn") do
  run(lambda do |_env|
    mark.call("started")
    Fiber.blocking { sleep }
  end)
end
