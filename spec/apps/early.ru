# frozen_string_literal: true

# Answers without reading, or after reading a little.

text = { "content-type" => "text/plain" }

use Rack::Lint
map("/unread") { run ->(_env) { [200, text, ["not read"]] } }
map("/partly") { run ->(env) { [200, text, ["read #{env["rack.input"].read(10).bytesize}"]] } }
map("/closed") do
  run(lambda do |env|
    env["rack.input"].close
    [200, text, ["closed"]]
  end)
end
