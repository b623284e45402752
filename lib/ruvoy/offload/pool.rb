# frozen_string_literal: true

# The threads of an Offload in one process, and the calls that wait for one; used by callers and by its own threads.

require_relative "call"

module Ruvoy
  class Offload
    # A call is handed to the thread that became idle last, or to a new one below the limit, or it waits. A thread that
    # ends a call takes the one that has waited longest. Threads that stay idle end.
    #
    # Interruptions may come at any point of a caller's code and of a block, and several of them. Therefore:
    # - a caller leaves only when its call is over;
    # - what changes the counts in a caller is masked against the interruptions of threads, and never parks: the mask is
    #   the thread's, and other fibers must not run under it;
    # - the pool's threads are masked but for the block and while they are idle.
    # @api private
    class Pool
      NEVER = { Object => :never }.freeze
      AT_ONCE = { Object => :immediate }.freeze
      ON_BLOCKING = { Object => :on_blocking }.freeze
      private_constant :NEVER, :AT_ONCE, :ON_BLOCKING

      # @param limit [Integer, nil]
      # @param idle_timeout [Numeric] in seconds
      # @param closed [Boolean]
      def initialize(limit, idle_timeout, closed: false)
        @limit = limit
        @idle_timeout = idle_timeout
        @closed = closed
        @process = Process.pid
        @lock = Thread::Mutex.new
        @rested = Thread::ConditionVariable.new
        @waiting = []
        @idle = [] # inboxes of threads
        @threads = []
        @running = @done = 0
      end

      # @return [Boolean] whether this is the pool of a parent process
      def forked? = @process != Process.pid

      def closed? = @closed

      # @return [Hash{Symbol => Integer}]
      def stats
        @lock.synchronize { { running: @running, waiting: @waiting.size, done: @done } }
      end

      # @param block [Proc]
      # @return [Object] see {Offload#call}
      def run(block)
        raise NestedError, "an offloaded block calls its own Offload, which could wait for itself" if @limit && inside?

        call = Call.new(self, block)
        attend(call)
        call.result
      end

      # @see Offload#close
      def close
        raise NestedError, "an offloaded block closes its own Offload, which would wait for itself" if inside?

        threads = @lock.synchronize do
          @closed = true
          @rested.wait(@lock) until rest?
          @idle.each(&:close)
          @threads.dup
        end
        threads.each(&:join)
        nil
      end

      private

      def inside? = Call.inside?(self)

      def rest? = @running.zero? && @waiting.empty?

      # --- callers ---

      # Admits the call and returns when it is over. If that is interrupted it is over nevertheless.
      def attend(call)
        admit(call)
        call.await { dispatch }
      rescue Exception => e # rubocop:disable Lint/RescueException -- it is raised again
        call.withdraw if deadlock?(e) # Nothing will ever end it.
        raise graver(e, outlast(call))
      ensure
        outlast(call) unless call.over? # A kill is no exception.
      end

      # Takes the call back if it still waits, else waits for its end, whatever happens.
      # @return [Exception, nil] what interrupted it
      def outlast(call)
        interruption = nil
        begin
          withdraw(call)
          call.await { dispatch }
        rescue Exception => e # rubocop:disable Lint/RescueException -- it is returned
          interruption = graver(interruption, e)
          call.withdraw if deadlock?(e) # Nothing will ever end it.
          retry
        end
        interruption
      ensure
        outlast(call) unless call.over?
      end

      # Which of two interruptions goes on. As in Ruby the later one replaces the earlier one, but a timeout must not
      # take the place of a cancellation.
      def graver(earlier, later)
        return earlier if later.nil? || (later.is_a?(StandardError) && earlier && !earlier.is_a?(StandardError))

        later
      end

      # Whether Ruby found that no thread can ever go on. It says so once. The class has no constant.
      def deadlock?(error) = error.class.name == "fatal" # rubocop:disable Style/ClassEqualityComparison

      def admit(call)
        masked do
          raise ClosedError, "this Offload is closed" if @closed

          @waiting << call
          call.admit
          hand_out
        end
      end

      # Starts calls that wait in vain, since a thread was killed.
      def dispatch = masked { hand_out }

      def withdraw(call)
        masked do
          call.withdraw if @waiting.delete(call)
          @rested.broadcast if rest?
        end
      end

      def masked(&) = @lock.synchronize { Thread.handle_interrupt(NEVER, &) }

      def hand_out
        until @waiting.empty? || @running == @limit
          inbox = @idle.pop || start_thread
          @running += 1
          inbox << @waiting.shift
        end
      end

      # A thread inherits the fiber storage of whoever starts it, and must not keep that alive.
      # @return [Thread::Queue] its inbox
      # @raise [ThreadError]
      def start_thread
        inbox = Thread::Queue.new
        Fiber.new(blocking: true, storage: {}) { @threads << Thread.new { serve(inbox) } }.resume
        inbox
      end

      # --- threads; masked since they are started so ---

      def serve(inbox)
        Thread.current.name = "ruvoy-offload"
        while (call = take(inbox))
          perform(call, inbox)
          return if forked? # The block forked, and this is the child.
        end
      ensure
        retire(inbox)
      end

      # @return [Call, nil] nil after the timeout, or when the pool was closed
      def take(inbox)
        call = Thread.handle_interrupt(ON_BLOCKING) { inbox.pop(timeout: @idle_timeout) }
        return call if call || @lock.synchronize { @idle.delete(inbox) }

        inbox.pop # It was handed over in the last moment.
      end

      def perform(call, inbox)
        Thread.handle_interrupt(AT_ONCE) { call.run }
      ensure
        release(inbox)
        call.finish
      end

      # Counts a call that ended and takes the next.
      def release(inbox)
        @lock.synchronize do
          @done += 1
          next inbox << @waiting.shift unless @waiting.empty?

          @running -= 1
          @idle << inbox
          @rested.broadcast if rest?
        end
      end

      # Ends the thread's part in the pool. One that was killed may leave a call behind: it waits again, and a caller is
      # to start it, not this thread, for what killed it may be the end of the process.
      def retire(inbox)
        @lock.synchronize do
          @threads.delete(Thread.current)
          @idle.delete(inbox)
          next if inbox.empty?

          @waiting.unshift(inbox.pop)
          @running -= 1
          @waiting.each(&:wake)
        end
      end
    end
  end
end
