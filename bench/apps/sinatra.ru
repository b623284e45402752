# frozen_string_literal: true

# A Sinatra application with one route.

require "sinatra/base"

class Hello < Sinatra::Base
  set :environment, :production
  set :logging, false

  get("/") { "hello\n" }
end

run Hello
