# frozen_string_literal: true

# The smallest application.

run ->(_env) { [200, { "content-type" => "text/plain", "content-length" => "6" }, ["hello\n"]] }
