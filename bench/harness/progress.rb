# frozen_string_literal: true

# A progress bar on a terminal; elsewhere a line for each step.

module Bench
  # Counts steps of known number and estimates the time that is left from the time that those before took.
  class Progress
    WIDTH = 24

    # @param total [Integer] steps
    # @param output [IO]
    def initialize(total, output = $stderr)
      @total = total
      @output = output
      @done = 0
      @started = now
    end

    # @param text [String] what is going on
    def show(text)
      if @output.tty?
        filled = @total.zero? ? WIDTH : WIDTH * @done / @total
        @output.print("\r\e[K[#{"#" * filled}#{"." * (WIDTH - filled)}] #{@done}/#{@total}#{left}  #{text}")
      else
        @output.puts("#{@done}/#{@total}#{left}  #{text}")
      end
    end

    # A step is done.
    def advance(steps = 1)
      @done += steps
    end

    def finish
      @output.print("\r\e[K") if @output.tty?
    end

    # A line that stays.
    def note(text)
      finish
      @output.puts(text)
    end

    private

    def left
      return "" if @done.zero?

      seconds = ((now - @started) / @done * (@total - @done)).round
      format(", %d:%02d left", seconds / 60, seconds % 60)
    end

    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end
end
