# frozen_string_literal: true

# The parity scenarios as a Sinatra application.

require "digest"

ENV["APP_ENV"] = "production" # before Sinatra decides on its error pages
require "sinatra/base"

class Shop < Sinatra::Base
  MEGABYTE = Random.new(1).bytes(1 << 20)

  set :host_authorization, permitted_hosts: []
  set :sessions, true
  set :session_secret, "s" * 64

  get("/") { "hello" }
  get("/query") { params.sort.inspect }
  get("/visits") { "visit #{session["visits"] = session["visits"].to_i + 1}" }
  get("/redirect") { redirect "/query?from=redirect" }
  get("/empty") { status 204 }
  put("/raw") { Digest::SHA256.hexdigest(request.body.read) }

  post("/form") do
    status 201
    params.sort.inspect
  end

  post("/upload") do
    file = params["file"]
    "#{file["filename"]} #{file["type"]} #{Digest::SHA256.file(file["tempfile"].path)}"
  end

  get("/cookies") do
    response.set_cookie("a", value: "1", path: "/")
    response.set_cookie("b", value: "2", path: "/", httponly: true)
    request.cookies.slice("a", "b", "x", "y").inspect
  end

  get("/download") do
    content_type "application/octet-stream"
    stream { |out| 50.times { out << MEGABYTE } }
  end
end

use Rack::Lint
run Shop
