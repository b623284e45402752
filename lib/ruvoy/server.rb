# frozen_string_literal: true

# The owner loop: takes events from Rust and runs a fiber per request, on the one thread that holds Ruby.

require "async"
require "rack"
require_relative "adapter"
require_relative "failure"
require_relative "handover"
require_relative "request"
require_relative "scheduler"
require_relative "starter"

module Ruvoy
  # Drives the scheduler from the root fiber. A batch of events crosses at once; each request's task is started from a
  # {Starter}, and each waiting fiber woken by a plain transfer from here. The thread sleeps only in the scheduler,
  # after Rust agreed.
  class Server
    # Under load other fibers have a turn after this many batches.
    BATCHES_A_TURN = 8
    # So many exceptions of the loop itself, with no turn of the scheduler between them that succeeds: it is broken.
    MAX_FAILURES = 10
    # How long tasks that the application left behind may take to unwind at the end.
    CLOSE_SECONDS = 1.0
    # An event is a request's id and, below it, so many bits that tell what happened.
    EVENT_BITS = 8
    EVENT_MASK = 0xff
    private_constant :BATCHES_A_TURN, :MAX_FAILURES, :CLOSE_SECONDS, :EVENT_BITS, :EVENT_MASK

    # Loads the application.
    # @param native [Module] Ruvoy::Native, or what has its methods
    # @param rackup [String] path of the rackup, whatever its name ends in
    # @return [Server]
    # @raise [Exception] whatever the rackup raises, SyntaxError, LoadError and SystemExit among it
    def self.boot(native, rackup)
      announcement = Handover.receive
      server = new(native, Rack::Builder.load_file(rackup))
      $stderr.puts(announcement) if announcement # rubocop:disable Style/StderrPuts -- a warning could be turned off
      server
    end

    # @param native [Module] Ruvoy::Native, or what has its methods
    # @param app [#call] the Rack application
    def initialize(native, app)
      @native = native
      @adapter = Adapter.new(app, native)
      @failure = Failure.new(native)
      @requests = {}
      @serve = proc { |_task, request| serve(request) }
      @stopping = @woken = false
      @failures = 0
      @batches = 0
    end

    # Serves until the stop event has come and the requests in flight are done. Blocks the calling thread, which becomes
    # the owner of everything; must be called from its root fiber.
    # @return [nil]
    # @raise [Exception] if the loop itself broke
    def run
      open
      turn until @stopping && @requests.empty?
      close
    rescue Exception # rubocop:disable Lint/RescueException -- Rust answers those in flight; no fiber may get there first
      @scheduler&.abandon
      raise
    end

    private

    def open
      forget_fiber_storage
      @scheduler = Scheduler.new
      Fiber.set_scheduler(@scheduler)
      @wakeup = IO.for_fd(@native.wakeup_fd, autoclose: false)
      @watcher = Async::Task.new(@scheduler, annotation: "wakeup") { watch }
      @watcher.run
      @starters = Starter::Pool.new { next_step }
    end

    # What the rackup put into the root fiber's storage would be inherited by every request.
    def forget_fiber_storage
      experimental = Warning[:experimental]
      Warning[:experimental] = false
      Fiber.current.storage = nil
    ensure
      Warning[:experimental] = experimental
    end

    # Makes the scheduler's sleep end when Rust signals; `take` clears the signal. Waiting anew while it is being woken
    # leaves the descriptor registered, so that a wakeup costs no epoll_ctl.
    def watch
      loop do
        @scheduler.io_wait(@wakeup, IO::READABLE)
        @woken = true
      end
    end

    def turn
      if take.positive?
        drain
        run_others(0) if ((@batches += 1) % BATCHES_A_TURN).zero?
      elsif @native.arm
        run_others(nil)
      end
    rescue Exception => e # rubocop:disable Lint/RescueException -- a fiber that dies of one hands it to the root fiber
      survive(e)
    end

    # What else than Rust's signal ends a sleep leaves nothing to clear.
    # @return [Integer] how many events there are
    def take
      woken = @woken
      @woken = false
      @native.take(woken)
    end

    # Starters take the new requests; what concerns others is dealt with here, where their fibers can be woken.
    def drain
      while (event = @starters.run)
        handle(event)
      end
    end

    # On a starter: takes one event.
    # @return [nil, Integer, false] nil: it was a new request, which was started; an event of another kind; false: there
    #   is none
    def next_step
      event = @native.next_event or return false
      return event unless event.anybits?(Request::REQUEST)

      start(event >> EVENT_BITS, event & EVENT_MASK)
      nil
    rescue Exception => e # rubocop:disable Lint/RescueException -- as in turn
      report(e)
    end

    def handle(event)
      return @stopping = true if event.zero?

      @requests[event >> EVENT_BITS]&.notify(event & EVENT_MASK)
    rescue Exception => e # rubocop:disable Lint/RescueException -- as in turn
      report(e)
    end

    # @param seconds [Numeric, nil] how long to sleep at most if there is nothing to do
    def run_others(seconds)
      @scheduler.run_once(seconds)
      @failures = 0
    end

    # An exception of the loop itself, as its backtrace tells, may be the last straw.
    def survive(error)
      @failures += 1 if error.backtrace_locations&.any? { |location| location.path == __FILE__ }
      raise error if @failures > MAX_FAILURES

      report(error)
    end

    def start(id, bits)
      request = @requests[id] = @adapter.request(id, bits)
      request.task = task = Async::Task.new(@scheduler, &@serve)
      task.run(request)
    rescue Exception => e # rubocop:disable Lint/RescueException -- no fiber could be had, or another one died meanwhile
      raise if request.nil? || request.env || request.finished?

      @adapter.refuse(request, e)
      release(request)
    end

    # The body of each request's task.
    def serve(request)
      @adapter.serve(request)
    ensure
      release(request)
    end

    def release(request)
      @requests.delete(request.id)
      request.release
    end

    def report(error)
      @failure.report(error, "a fiber of the application ended with an exception")
      nil
    end

    def close
      @scheduler.shut_down(CLOSE_SECONDS)
      Fiber.set_scheduler(nil)
    rescue Exception => e # rubocop:disable Lint/RescueException -- every request was served
      @failure.report(e, "closing the scheduler failed")
      nil
    end
  end
end
