# frozen_string_literal: true

# The public index of Ruvoy: requiring it loads nothing native, so that it works in any Ruby process.

require_relative "ruvoy/version"
require_relative "ruvoy/errors"

# A Ruby application runtime inside Envoy: Envoy carries HTTP, Ruby carries Rack.
module Ruvoy
  autoload :Adapter, "#{__dir__}/ruvoy/adapter"
  autoload :Body, "#{__dir__}/ruvoy/body"
  autoload :Bootstrap, "#{__dir__}/ruvoy/bootstrap"
  autoload :CLI, "#{__dir__}/ruvoy/cli"
  autoload :Input, "#{__dir__}/ruvoy/input"
  autoload :Launcher, "#{__dir__}/ruvoy/launcher"
  autoload :Server, "#{__dir__}/ruvoy/server"
end
