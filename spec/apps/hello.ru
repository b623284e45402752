# frozen_string_literal: true

# The smallest application.

use Rack::Lint
run ->(_env) { [200, { "content-type" => "text/plain" }, ["hello from ruby #{RUBY_VERSION}"]] }
