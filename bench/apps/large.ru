# frozen_string_literal: true

# Answers with the same 1 MiB each time.

body = "x" * 1_048_576

run ->(_env) { [200, { "content-type" => "application/octet-stream" }, [body]] }
