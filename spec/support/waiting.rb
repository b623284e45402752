# frozen_string_literal: true

# Waits for a condition: the one place in the specs that pauses, and always with an upper bound.
module Waiting
  class TimedOut < StandardError; end

  PAUSE_S = 0.01

  module_function

  # @param what [String] names the condition in the failure message
  # @param seconds [Numeric] the most to wait
  # @return [Object] the first truthy value of the block
  # @raise [TimedOut]
  def wait_until(what, seconds: 30)
    deadline = now + seconds
    until (value = yield)
      raise TimedOut, "gave up after #{seconds} s: #{what}" if now > deadline

      sleep PAUSE_S
    end
    value
  end

  # Waits until the block has given the same value `times` times in a row, and returns it.
  def wait_until_steady(what, times: 20, seconds: 30)
    history = []
    wait_until("#{what} comes to rest", seconds: seconds) do
      history = history.last(times - 1).push(yield)
      history.size == times && history.uniq.size == 1
    end
    history.last
  end

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end
