# frozen_string_literal: true

# Blocking calls that block nobody: blocks run on threads of a pool while the calling fiber or thread waits.

require_relative "errors"

module Ruvoy
  # Runs blocks on threads of its own, a limited number at once. Plain Ruby: it needs neither Envoy nor a reactor. The
  # caller waits with what its thread has: its fiber parks under any fiber scheduler (Ruvoy, Falcon, Async), its thread
  # sleeps under none (Puma, a console).
  #
  #     LEGACY = Ruvoy::Offload.new(limit: 16)
  #     rows = LEGACY.call { client.query("select …") }
  #
  # It is for calls that hold the thread without Ruby's scheduler hearing of it: C extensions that wait by themselves,
  # but release the global VM lock meanwhile. Nothing helps against what keeps that lock, such as pg's `sync_exec` since
  # pg 1.7 (its `exec` needs no offload: it waits through the scheduler), and Ruby code that computes.
  #
  # ## What a block gets, and what becomes of it
  #
  # - A copy of the caller's fiber storage (`Fiber[]`). Not its thread-locals, fiber-locals, Async task or locks: a
  #   Mutex or Monitor that the caller holds is somebody else's for the block.
  # - A fiber of its own, so that fiber-locals (`Thread.current[]`) do not reach the next call on that thread. What is
  #   set with `Thread#thread_variable_set` does.
  # - Its value is the call's, `next` too. What it raises arrives at the caller as the same object, with its backtrace;
  #   the caller's own is appended, so that a log shows the whole way. That goes for SystemExit (`exit`) too.
  # - `throw` reaches the caller's `catch`, unless the block itself rescues ArgumentError around it.
  # - `break` and `return` cannot leave it: LocalJumpError, as in every block that another thread runs.
  #
  # ## Interruptions
  #
  # A call is never cut short, for nobody can tell what a C library leaves behind then. A caller that is interrupted
  # (a cancelled Async task, a timeout, `Thread#raise`, `Thread#kill`, a signal) waits for its call to end and then
  # unwinds, however often it is interrupted meanwhile; what the call gave is dropped. A call that still waits for its
  # turn is withdrawn, and the caller unwinds at once. So limit the time of a call where it is made: `statement_timeout`
  # in PostgreSQL, `read_timeout` of a client.
  #
  # ## Costs
  #
  # Ruby 3.3 without YJIT on 2 busy cores, Async as the scheduler, medians:
  #
  # | a call that does nothing | µs |
  # |---|---|
  # | by a thread without a scheduler | 18 |
  # | by a lone fiber | 29 |
  # | by each of 100 fibers, limit 16 | 12 |
  # | that needs a new thread | 160 |
  # | for comparison: `Thread.new {}.value` | 70–220 |
  #
  # 22 objects a call, and 40 KB of memory a thread. So offload what waits, for a millisecond or more. A block that
  # computes in Ruby keeps the global VM lock for up to 100 ms at a stretch, and all other threads stand still.
  class Offload
    autoload :Call, "#{__dir__}/offload/call"
    autoload :Pool, "#{__dir__}/offload/pool"

    # A call of a pool was made from inside a call of the same pool, where it could wait for itself.
    class NestedError < Error; end

    # The pool was closed.
    class ClosedError < Error; end

    # The thread was killed under the call, which has neither a value nor an exception then.
    class KilledError < Error; end

    # Held for a moment by the first call after a fork.
    FORKED = Thread::Mutex.new
    private_constant :FORKED

    # @return [Integer, nil] the most calls in flight
    attr_reader :limit

    # @param limit [Integer, nil] the most calls in flight, 1 or more, and so the most threads; nil: no limit
    # @param idle_timeout [Numeric] seconds after which a thread without work ends
    # @raise [ArgumentError] for a limit or a timeout that is none
    def initialize(limit: 16, idle_timeout: 30.0)
      refuse("limit", "a positive Integer or nil", limit) unless limit.nil? || limit?(limit)
      refuse("idle_timeout", "a positive number of seconds", idle_timeout) unless seconds?(idle_timeout)

      @limit = limit
      @idle_timeout = idle_timeout
      @pool = Pool.new(limit, idle_timeout)
    end

    # Runs the block on a thread of the pool and waits for it; parks the calling fiber. Callers above the limit wait for
    # their turn, first come, first served.
    # @yield [] on another thread
    # @return [Object] the block's value
    # @raise [ArgumentError] without a block
    # @raise [ClosedError] after {#close}
    # @raise [NestedError] from inside a call of the same pool, on whatever thread or fiber that call started, as long
    #   as it runs; not if the pool has no limit. Pools may call each other: always in the same order, lest two calls
    #   wait for each other.
    # @raise [KilledError] if the block killed its thread (`Thread.exit`), or someone else did
    # @raise [ThreadError] if the system gives no thread
    # @raise [Exception] whatever the block raises
    def call(&block)
      raise ArgumentError, "no block given" if block.nil?

      pool.run(block)
    end

    # Refuses calls from now on, and waits for those that were made before and for the threads to end; parks the calling
    # fiber. May be called again.
    # @return [void]
    # @raise [NestedError] from inside a call of this pool
    def close
      pool.close
    end

    # @return [Boolean] whether {#close} was called
    def closed? = pool.closed?

    # @return [Hash{Symbol => Integer}] calls that run (`:running`), that wait for their turn (`:waiting`), and that
    #   ended in whatever way since the process began (`:done`); those that were withdrawn never ran and do not count
    def stats = pool.stats

    # @return [String]
    def inspect
      counts = stats.map { |name, count| "#{name}=#{count}" }.join(" ")
      "#<#{self.class} limit=#{limit.inspect} #{counts}#{" closed" if closed?}>"
    end

    # @api private
    # @return [Object] see {Ruvoy.offload}
    def self.shared(&) = SHARED.call(&)

    private

    def limit?(value) = value.is_a?(Integer) && value.positive?

    def seconds?(value) = value.is_a?(Numeric) && value.real? && value.finite? && value.positive?

    def refuse(name, expected, value)
      raise ArgumentError, "#{name} is #{expected}, not #{value.inspect}"
    end

    # A fork has this object, but not the threads.
    def pool
      @pool.forked? ? renew : @pool
    end

    def renew
      FORKED.synchronize do
        @pool = Pool.new(@limit, @idle_timeout, closed: @pool.closed?) if @pool.forked?
      end
      @pool
    end

    # What {Ruvoy.offload} runs on.
    SHARED = new(limit: nil)
    private_constant :SHARED
  end
end
