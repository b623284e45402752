# frozen_string_literal: true

# Both directions of a connection that the client and the upstream have upgraded; owner thread only.

module Ruvoy
  class Upstream
    # A streaming body that copies bytes both ways until one side ends.
    class Relay
      # @param call [Call] whose answer was 101
      def initialize(call)
        @call = call
      end

      # @param stream [Stream] the client's side
      # @return [void]
      # @raise [UpstreamError] if the client's side lagged too far behind
      # @raise [ClientDisconnected] if the client left
      def call(stream)
        upward = Async { send_upward(stream) }
        while (chunk = @call.read)
          stream.write(chunk)
        end
      ensure
        upward&.cancel
        @call.cancel
        stream.close
      end

      # Where the response is not used after all.
      # @return [void]
      def close = @call.cancel

      private

      def send_upward(stream)
        while (chunk = stream.read_partial)
          return unless @call.write(chunk)
        end
        @call.finish
      rescue IOError, ClientDisconnected
        nil # The client's side is over, and the other direction finds out by itself.
      end
    end
  end
end
