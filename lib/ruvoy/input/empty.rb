# frozen_string_literal: true

# `rack.input` of a request without a body.

module Ruvoy
  class Input
    # The input of a request without a body: stateless, so that one serves all.
    class Empty
      # @return [String, nil] as {Input#read} at the end of a body
      # @raise [ArgumentError] if length is negative
      def read(length = nil, buffer = nil)
        raise ArgumentError, "negative length #{length} given" if length&.negative?

        buffer&.clear
        return if length&.positive?

        buffer || String.new(encoding: Encoding::BINARY)
      end

      # @raise [EOFError] always, but for 0 bytes
      # @return [String]
      def readpartial(max, buffer = nil)
        read(max, buffer) or raise EOFError, "end of file reached"
      end

      # @return [String, nil] as {#read}
      def read_available(max = 1, buffer = nil) = read(max, buffer)

      # @return [nil]
      def gets(*, **) = nil

      # @return [self, Enumerator]
      def each
        block_given? ? self : to_enum
      end

      # @return [Integer] 0
      def rewind = 0

      # @return [nil]
      def close = nil

      # @return [Boolean] false
      def closed? = false

      # @return [self]
      def forget = self
    end

    # @return [Empty] shared by all requests without a body
    EMPTY = Empty.new.freeze
  end
end
