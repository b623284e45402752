# frozen_string_literal: true

# The application that both servers run: /env echoes the request, /response/NAME answers as the table says. What breaks
# the contract is here on purpose, so Rack::Lint stays out.

require_relative "responses"

# Every CGI variable and the body, as lines that can be compared one by one.
echo = lambda do |env|
  shown = env.select { |name, _| name.match?(/\A[A-Z_]+\z/) || name == "rack.url_scheme" }
  lines = shown.sort.map { |name, value| "#{name}=#{value.inspect}" }
  lines << "body=#{env["rack.input"]&.read.inspect}"
  [200, { "content-type" => "text/x-env" }, [lines.join("\n")]]
end

hint = lambda do |env|
  env["rack.early_hints"]&.call("link" => "</a.css>; rel=preload")
  [200, { "content-type" => "text/plain" }, ["hinted"]]
end

run(lambda do |env|
  case env["PATH_INFO"]
  when %r{\A/response/(.+)} then Parity::RESPONSES.fetch($1).call # rubocop:disable Style/PerlBackrefs
  when "/hints" then hint.call(env)
  when "/ignore" then [200, { "content-type" => "text/plain" }, ["ignored"]]
  else echo.call(env)
  end
end)
