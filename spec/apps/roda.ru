# frozen_string_literal: true

# The parity scenarios as a Roda application.

require "digest"
require "roda"

class Shop < Roda
  MEGABYTE = Random.new(1).bytes(1 << 20)

  plugin :all_verbs
  plugin :cookies
  plugin :head
  plugin :not_found
  plugin :sessions, secret: "s" * 64
  plugin :streaming

  not_found { "no such page" }

  route do |r|
    r.root { "hello" }
    r.get("query") { r.GET.sort.inspect }
    r.get("visits") { "visit #{session["visits"] = session["visits"].to_i + 1}" }
    r.get("redirect") { r.redirect "/query?from=redirect" }
    r.get("empty") { r.halt([204, {}, []]) }
    r.put("raw") { Digest::SHA256.hexdigest(r.body.read) }

    r.post("form") do
      response.status = 201
      r.POST.sort.inspect
    end

    r.post("upload") do
      file = r.POST["file"]
      "#{file[:filename]} #{file[:type]} #{Digest::SHA256.file(file[:tempfile].path)}"
    end

    r.get("cookies") do
      response.set_cookie("a", value: "1", path: "/")
      response.set_cookie("b", value: "2", path: "/", httponly: true)
      r.cookies.sort.inspect
    end

    r.get("download") do
      response["content-type"] = "application/octet-stream"
      stream { |out| 50.times { out << MEGABYTE } }
    end
  end
end

use Rack::Lint
run Shop.freeze.app
