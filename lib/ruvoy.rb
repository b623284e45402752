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
  autoload :Cluster, "#{__dir__}/ruvoy/cluster"
  autoload :Context, "#{__dir__}/ruvoy/context"
  autoload :Input, "#{__dir__}/ruvoy/input"
  autoload :Launcher, "#{__dir__}/ruvoy/launcher"
  autoload :Offload, "#{__dir__}/ruvoy/offload"
  autoload :Server, "#{__dir__}/ruvoy/server"
  autoload :Upstream, "#{__dir__}/ruvoy/upstream"

  # Runs the block on a thread of its own and waits for it; parks the calling fiber. Any number may run at once: for a
  # limit, and for what a block can count on, see {Offload}.
  #
  #     Ruvoy.offload { file.flock(File::LOCK_EX) }
  #
  # @yield [] on another thread
  # @return [Object] the block's value
  # @raise [ArgumentError] without a block
  # @raise [Offload::KilledError] if the thread was killed under the block
  # @raise [ThreadError] if the system gives no thread
  # @raise [Exception] whatever the block raises
  def self.offload(&) = Offload.shared(&)
end
