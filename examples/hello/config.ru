# frozen_string_literal: true

# The smallest application: says hello, and which Ruby says it.

run ->(_env) { [200, { "content-type" => "text/plain" }, ["hello from ruby #{RUBY_VERSION}\n"]] }
