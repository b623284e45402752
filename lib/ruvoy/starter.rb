# frozen_string_literal: true

# The fibers that start the fibers of requests, so that a stack is used again at once; owner thread only.

module Ruvoy
  # Ruby gives the stack of a fiber that has ended to the next one, but only if the fiber was resumed. One that got
  # control by a transfer keeps it until it is collected: hundreds of stacks are in use then, and none is in the cache.
  #
  # A starter resumes the fibers of requests, one after the other. A fiber that waits hands control to the scheduler on
  # the root fiber, and its starter is stuck until the fiber has ended; meanwhile another starter goes on. So there is
  # one more than there are requests that wait.
  class Starter < Fiber
    # So many that have nothing to do are kept.
    MAX_IDLE = 32
    # The root fiber got control from the scheduler, not from a starter.
    WAITING = Object.new.freeze
    private_constant :MAX_IDLE, :WAITING

    # Starts whatever a block gives, on as many starters as it takes.
    class Pool
      # Must be made on the root fiber.
      # @yield [] starts one request, on a starter; returns nil if it did and may be called again at once, or what
      #   {#run} is to return
      def initialize(&step)
        @step = step
        @root = Fiber.current
        @idle = []
        @result = @current = nil
      end

      # Calls the block until it returns something else than nil. Must be called on the root fiber.
      # @return [Object] what the block returned
      def run
        @result = WAITING
        while @result.equal?(WAITING)
          @current = @idle.pop || Starter.new { work }
          @current.transfer
        end
        @result
      end

      private

      # The whole life of a starter.
      def work
        own = Fiber.current
        loop do
          result = @step.call
          # Else the request has waited, the loop went on without this starter, and the result is a leftover.
          attached = @current.equal?(own)
          next if attached && result.nil?

          @result = result if attached
          break if @idle.size >= MAX_IDLE

          @idle << own
          @root.transfer
        end
      end
    end

    # Gives control to a new fiber until it waits or ends.
    # @param fiber [Fiber]
    # @param argument [Object] what it gets
    # @return [void]
    def start(fiber, argument)
      fiber.resume(argument)
      # Fiber.yield has no meaning in the fiber of a request, as in any that the scheduler runs.
      fiber.raise(FiberError, "attempt to yield on a not resumed fiber") while fiber.alive?
    end
  end
end
