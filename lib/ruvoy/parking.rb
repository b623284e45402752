# frozen_string_literal: true

# Lets fibers wait for what Rust tells later; owner thread only.

module Ruvoy
  # For objects that keep lists of waiting fibers.
  module Parking
    private

    # Parks the calling fiber until {#resume}, or until it is interrupted.
    # @param waiting [Array<Fiber>] where it waits
    # @return [void]
    def park(waiting)
      waiting << Fiber.current
      Fiber.scheduler.transfer
    ensure
      waiting.delete(Fiber.current)
    end

    # A woken fiber that must wait again does so in a new list; one that was interrupted meanwhile has left this one.
    # @param waiting [Array<Fiber>] which nobody joins any more
    # @return [void]
    def resume(waiting)
      while (fiber = waiting.shift)
        Fiber.scheduler.resume(fiber)
      end
    end
  end
end
