# frozen_string_literal: true

# Reports exceptions to the operator, never to the client; owner thread only.

module Ruvoy
  # Writes exceptions with their backtraces and causes to Envoy's log and to `rack.errors`.
  class Failure
    # The level of Envoy's log.
    ERROR = 4
    # The most bytes of one report: a deep stack has a long backtrace.
    MAX_BYTES = 32_768
    private_constant :ERROR, :MAX_BYTES

    # @param native [Module] Ruvoy::Native, or what has its methods
    def initialize(native)
      @native = native
    end

    # Never raises: the server goes on whatever an exception's own methods do.
    # @param error [Exception]
    # @param what [String] what went wrong, for the first line
    # @param errors [#puts, nil] `rack.errors`
    # @return [void]
    def report(error, what, errors = nil)
      text = "#{what}: #{describe(error)}"
      @native.log(ERROR, text)
      errors&.puts(text)
    rescue Exception => e # rubocop:disable Lint/RescueException -- see above
      @native.log(ERROR, "#{what}: #{error.class}, and reporting it failed: #{e.class}")
    end

    private

    def describe(error)
      error.full_message(highlight: false, order: :top).b.byteslice(0, MAX_BYTES).chomp
    rescue Exception # rubocop:disable Lint/RescueException -- an exception whose message raises
      "#{error.class} (its message cannot be had)\n#{error.backtrace&.first(50)&.join("\n")}"
    end
  end
end
