# frozen_string_literal: true

# One offloaded call: made and awaited by the caller, run once by a thread of the pool.

module Ruvoy
  class Offload
    # Carries the block there and its outcome back. {#run} and {#finish} belong to the pool's thread, the rest to the
    # caller, who sees the outcome only after {#over?}.
    # @api private
    class Call
      # Under this key fiber storage has the calls that the current code runs in.
      KEY = :ruvoy_offload
      # What the paths of Ruvoy's own frames start with.
      OWN_PATH = File.dirname(__dir__)
      private_constant :KEY, :OWN_PATH

      # @param pool [Pool]
      # @return [Boolean] whether the current code runs inside a call of the pool that has not ended
      def self.inside?(pool) = Fiber[KEY]&.any? { |call| call.inside?(pool) } || false

      # @param pool [Pool]
      # @param block [Proc]
      def initialize(pool, block)
        @pool = pool
        @block = block
        storage = Fiber.current.storage || {}
        storage[KEY] = [*storage[KEY], self]
        @storage = storage
        @wakeup = Thread::Queue.new
        @over = true
      end

      # @return [Boolean] whether there is nothing to wait for: it was not admitted yet, was withdrawn, or has ended
      def over? = @over

      def inside?(pool) = !@over && @pool.equal?(pool)

      # From now on the pool owes it an end.
      def admit = @over = false

      def withdraw = @over = true

      # Parks the caller until the call is over. The block is called each time that the pool wakes the caller before.
      def await
        until @over
          @wakeup.pop
          yield unless @over
        end
      end

      def wake = @wakeup << nil

      # Runs the block on this thread, in a fiber with the caller's storage.
      def run
        fiber = Fiber.new(blocking: true, storage: @storage) { perform }
        fiber.resume
        fiber.raise(FiberError, "an offloaded block cannot yield from its fiber") while fiber.alive?
      end

      # Ends it, and wakes the caller.
      def finish
        @block = @storage = nil
        @over = true
        wake
      end

      # @return [Object] the block's value
      # @raise [Exception] what the block raised
      def result
        case @outcome
        when :value then @value
        when :error then fail_with(@value)
        else raise KilledError, "the thread of an offloaded call was killed before the call ended"
        end
      end

      private

      def perform
        @value = @block.call
        @outcome = :value
      rescue Exception => e # rubocop:disable Lint/RescueException -- whatever it is, it is the caller's
        @value = e
        @outcome = :error
      end

      def fail_with(error)
        throw_again(error) if error.is_a?(UncaughtThrowError)
        append_position(error) unless error.frozen?
        raise error
      end

      # What nothing in the block caught may be for a `catch` of the caller.
      def throw_again(error)
        throw error.tag, error.value
      rescue UncaughtThrowError
        nil
      end

      # Makes the backtrace go on with the caller's, once a caller: some exceptions are raised again and again.
      def append_position(error)
        here = caller_locations.drop_while { |location| location.path.start_with?(OWN_PATH) }
        trace = error.backtrace || []
        return if here.empty? || trace.include?(here.first.to_s)

        locations = error.backtrace_locations if RUBY_VERSION >= "3.4" # Ruby 3.3 takes only strings.
        error.set_backtrace(locations ? locations + here : trace + here.map(&:to_s))
      end
    end
  end
end
