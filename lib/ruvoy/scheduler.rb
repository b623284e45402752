# frozen_string_literal: true

# The Async scheduler of the owner thread, driven from its root fiber by the {Server}'s loop.

require "async"
require_relative "starter"
require_relative "timers"

module Ruvoy
  # An Async::Scheduler on whose root fiber fibers are woken, and on whose {Starter}s they are started: they get control
  # at once. Async itself would put the root fiber into its ready queue each time, though it is the loop anyway.
  class Scheduler < Async::Scheduler
    # How long {#shut_down} waits for each turn of the loop.
    TURN_SECONDS = 0.05
    private_constant :TURN_SECONDS

    def initialize(...)
      super
      @timers = Timers.in_place_of(@timers)
      @root = Fiber.current
      @abandoned = false
    end

    # @param fiber [Fiber] gets control until it waits
    # @param argument [Object] what it gets; not a splat, which would make an Array for each request
    # @return [void]
    def resume(fiber, argument = nil)
      current = Fiber.current
      if current.equal?(@root)
        fiber.transfer(argument)
      elsif current.is_a?(Starter)
        current.start(fiber, argument)
      else
        super
      end
    end

    # Stops every task; gives up on those that do not end.
    # @param seconds [Float] how long they may take
    # @return [void]
    def shut_down(seconds)
      deadline = Async::Clock.now + seconds
      run_once!(TURN_SECONDS) until terminate || Async::Clock.now > deadline
      children? ? abandon : close
    end

    # Leaves every task as it is, for good.
    # @return [void]
    def abandon
      @abandoned = true
    end

    # Ruby calls this when the thread ends. Async would run on until the last task ended by itself.
    # @return [void]
    def scheduler_close(*)
      shut_down(0) unless @abandoned || closed?
    end
  end
end
