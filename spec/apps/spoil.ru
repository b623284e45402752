# frozen_string_literal: true

# Spoils its env: what it finds there must be fresh each time.

# Freezes the env, after Rack::Lint has done with it.
Freeze = Struct.new(:app) do
  def call(env) = app.call(env).tap { env.freeze }
end

use Freeze
use Rack::Lint
run(lambda do |env|
  seen = env.values_at("spoiled", "SERVER_NAME", "rack.url_scheme", "HTTP_X_A").inspect
  %w[SERVER_NAME rack.url_scheme HTTP_X_A].each { |key| env[key] << "!" unless env[key].frozen? }
  env["SERVER_NAME"] = "spoiled.test"
  env["spoiled"] = true
  env.delete("rack.multithread")
  [200, { "content-type" => "text/plain" }, [seen]]
end)
