# frozen_string_literal: true

# Reads the request's body whole and tells its size.

run ->(env) { [200, { "content-type" => "text/plain" }, [env["rack.input"].read.bytesize.to_s]] }
