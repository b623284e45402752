# frozen_string_literal: true

# Says that it holds the request, and holds it until its body has come.

hold = lambda do |env|
  body = Enumerator.new do |chunks|
    chunks << "held"
    chunks << env["rack.input"].read
  end
  [200, { "content-type" => "text/plain" }, body]
end

use Rack::Lint
run hold
