# frozen_string_literal: true

# Generates a JSON document of 10 KB for each request.

require "json"

rows = Array.new(85) do |number|
  { "id" => number, "name" => "row number #{number}", "price" => number * 1.25, "tags" => %w[red green blue],
    "active" => number.even?, "note" => "text" * 8 }
end

run lambda { |_env|
  [200, { "content-type" => "application/json" }, [JSON.generate("rows" => rows)]]
}
