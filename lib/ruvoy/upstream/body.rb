# frozen_string_literal: true

# The body of an upstream's answer, as it lands; owner thread only.

module Ruvoy
  class Upstream
    # A Rack body. Whoever does not read it to its end closes it, which cancels the call; the server does so for the
    # body of its response.
    class Body
      # @param call [Call] whose head has come
      def initialize(call)
        @call = call
      end

      # Yields the body as it lands; parks the calling fiber while nothing has.
      # @yieldparam chunk [String] binary, not empty
      # @return [self, Enumerator] an Enumerator if no block is given
      # @raise [UpstreamError] if the body broke off, the reader lagged too far behind, or the request ended
      def each
        return to_enum unless block_given?

        while (chunk = @call.read)
          yield chunk
        end
        self
      end

      # @!visibility private

      # @param request [Request]
      # @return [Boolean] whether {#pass} works
      def passable?(request) = @call.passable?(request)

      # Moves what is left of the body into the response to `request`, and yields after each piece.
      # @param request [Request]
      # @yieldparam size [Integer] the piece's bytes
      # @return [void]
      def pass(request)
        while (size = @call.pass(request))
          yield size
        end
      end

      # @!visibility public

      # Waits for all of the body that was not read yet, however large it is.
      # @return [String] binary
      # @raise [UpstreamError] as {#each}
      def read = @call.rest

      # @return [void]
      def close = @call.cancel
    end
  end
end
