# frozen_string_literal: true

# The timers of the owner thread's scheduler, in the order in which they end; owner thread only.

require "async"

module Ruvoy
  # Has the interface of IO::Event::Timers, by which Async's scheduler starts, cancels and ends timers, and is made for
  # what a server's timers are: most last as long as many others, and so end after all that began before. Such a one is
  # appended; any other finds its place by binary search. Async's own keeps a heap, in which each costs the more Ruby
  # calls the more there are.
  class Timers
    # So many cancelled ones may stand among the others, however few these are.
    MIN_CANCELLED = 128
    # What handles of Async's own timers have for these alone.
    FOR_THE_HEAP = %i[< > schedule! removed!].freeze
    private_constant :MIN_CANCELLED, :FOR_THE_HEAP

    # Another version of Async may ask for more than this class can do, and then keeps its own.
    # @param timers [Object] what a scheduler has
    # @return [Timers, Object] what it should have
    def self.in_place_of(timers)
      return timers unless timers.instance_of?(IO::Event::Timers)

      missing = beyond(IO::Event::Timers, self) + (beyond(IO::Event::Timers::Handle, Handle) - FOR_THE_HEAP)
      missing.empty? ? new : timers
    end

    # @return [Array<Symbol>] the methods that `ours` lacks
    def self.beyond(theirs, ours) = theirs.public_instance_methods(false) - ours.public_instance_methods(false)
    private_class_method :beyond

    def initialize
      @handles = []
      @cancelled = 0
      @fired = -Float::INFINITY
    end

    # @return [Integer] how many timers wait
    def size = @handles.size - @cancelled

    # @return [Float] the monotonic clock's seconds
    def now = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC)

    # Starts a timer.
    # @param offset [Numeric] the seconds from now on
    # @yield [now] when they are over, in {#fire}
    # @return [Handle] to cancel it by
    # @raise [ArgumentError] unless the offset is finite
    def after(offset, &block) = schedule(now + offset.to_f, block)

    # Starts a timer.
    # @param time [Float] when it ends, in the monotonic clock's seconds
    # @param block [Proc] what is called then
    # @return [Handle] to cancel it by
    # @raise [ArgumentError] unless the time is finite
    def schedule(time, block)
      raise ArgumentError, "a timer's time is finite, not #{time}" unless time.finite?

      # One that is started while others end has its turn after a look at everything else.
      time = @fired.next_float if time <= @fired
      handle = Handle.new(self, time, block)
      insert(handle, time)
      handle
    end

    # @param now [Float] the monotonic clock's seconds
    # @return [Float, nil] the seconds until the earliest timer ends, below 0 if it should have; nil: there is none
    def wait_interval(now = self.now)
      handle = first
      handle.time - now if handle
    end

    # Calls what waited for this time.
    # @param now [Float] the monotonic clock's seconds
    # @return [void]
    # @raise [Exception] whatever a timer's block raises; the others have their turn the next time
    def fire(now = self.now)
      @fired = now
      while (handle = first) && handle.time <= now
        @handles.shift
        handle.leave
        handle.call(now)
      end
    end

    # A handle tells that it was cancelled while it waited.
    # @return [void]
    def cancelled!(_handle)
      @cancelled += 1
      return if @cancelled < MIN_CANCELLED || @cancelled * 2 < @handles.size

      @handles.reject!(&:cancelled?)
      @cancelled = 0
    end

    private

    def insert(handle, time)
      last = @handles.last
      if last.nil? || last.time <= time
        @handles << handle
      else
        @handles.insert(@handles.bsearch_index { |other| other.time > time }, handle)
      end
    end

    # @return [Handle, nil] the one that ends first
    def first
      while (handle = @handles[0]) && handle.cancelled?
        @handles.shift
        @cancelled -= 1
      end
      handle
    end

    # One timer.
    class Handle
      # @return [Float] when it ends, in the monotonic clock's seconds
      attr_reader :time
      # @return [Proc, nil] what is called then; nil: it was cancelled
      attr_reader :block

      # @param timers [Timers]
      # @param time [Float]
      # @param block [Proc]
      def initialize(timers, time, block)
        @timers = timers
        @time = time
        @block = block
      end

      # @return [void]
      def call(...) = @block.call(...)

      # @return [Boolean]
      def cancelled? = @block.nil?

      # It waits no longer.
      # @return [void]
      def leave
        @timers = nil
      end

      # Does nothing once it has ended.
      # @return [void]
      def cancel!
        return if @block.nil?

        @block = nil
        @timers&.cancelled!(self)
        @timers = nil
      end
    end
  end
end
