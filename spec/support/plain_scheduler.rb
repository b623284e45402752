# frozen_string_literal: true

# The least that Ruby asks of a fiber scheduler, so that specs prove what works under any, not only under Async.

class PlainScheduler
  def initialize
    @ready = Thread::Queue.new
    @deadlines = {}
    @fibers = 0
  end

  # --- Ruby's interface ---

  def fiber(&block)
    @fibers += 1
    fiber = Fiber.new(blocking: false) do
      block.call
    ensure
      @fibers -= 1
    end
    fiber.tap(&:resume)
  end

  def block(_blocker, timeout = nil)
    fiber = Fiber.current
    @deadlines[fiber] = now + timeout if timeout
    Fiber.yield
  ensure
    @deadlines.delete(fiber)
  end

  # Other threads call this.
  def unblock(_blocker, fiber) = @ready << fiber

  def kernel_sleep(seconds = nil) = block(nil, seconds)

  def io_wait(io, _events, timeout) = io.wait(timeout)

  # Runs until every fiber has ended.
  def close
    turn until @fibers.zero?
  end

  private

  def turn
    soonest = @deadlines.each_value.min
    fiber = @ready.pop(timeout: soonest && [soonest - now, 0].max)
    fiber.resume(true) if fiber&.alive?
    due = @deadlines.select { |_, deadline| deadline <= now }
    due.each_key { |late| late.resume(false) if late.alive? }
  end

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end
