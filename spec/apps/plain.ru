# frozen_string_literal: true

# The parity scenarios on bare Rack.

require "digest"
require "rack/content_length"
require "rack/head"
require "rack/session"

MEGABYTE = Random.new(1).bytes(1 << 20)

# Fifty megabytes, one at a time.
class Download
  def each
    50.times { yield MEGABYTE }
  end
end

answer = ->(text, status: 200, **headers) { [status, { "content-type" => "text/plain", **headers }, [text]] }

routes = {
  ["GET", "/"] => ->(_request) { answer.call("hello") },
  ["GET", "/query"] => ->(request) { answer.call(request.GET.sort.inspect) },
  ["POST", "/form"] => ->(request) { answer.call(request.POST.sort.inspect, status: 201) },
  ["POST", "/upload"] => lambda do |request|
    file = request.POST["file"]
    answer.call("#{file[:filename]} #{file[:type]} #{Digest::SHA256.file(file[:tempfile].path)}")
  end,
  ["PUT", "/raw"] => ->(request) { answer.call(Digest::SHA256.hexdigest(request.body.read)) },
  ["GET", "/visits"] => lambda do |request|
    visits = request.session["visits"] = request.session["visits"].to_i + 1
    answer.call("visit #{visits}")
  end,
  ["GET", "/cookies"] => lambda do |request|
    answer.call(request.cookies.sort.inspect, "set-cookie" => ["a=1; path=/", "b=2; path=/; httponly"])
  end,
  ["GET", "/redirect"] => ->(_request) { answer.call("", status: 302, "location" => "/query?from=redirect") },
  ["GET", "/empty"] => ->(_request) { [204, {}, []] },
  ["GET", "/download"] => ->(_request) { [200, { "content-type" => "application/octet-stream" }, Download.new] }
}

use Rack::Lint
use Rack::Head
use Rack::ContentLength
use Rack::Session::Cookie, secret: "s" * 64
run(lambda do |env|
  request = Rack::Request.new(env)
  verb = request.head? ? "GET" : request.request_method
  routes.fetch([verb, request.path_info]) { ->(_) { answer.call("no such page", status: 404) } }.call(request)
end)
