# frozen_string_literal: true

# Both directions of a connection that the client and the upstream have upgraded; owner thread only.

module Ruvoy
  class Upstream
    # A streaming body that copies bytes both ways until one side ends.
    class Relay
      # @param call [Call] whose answer was 101
      # @param request [Request] whose input, once it is upgraded, is what the client sends; a stream that a middleware
      #   has wrapped cannot be read as bytes come
      def initialize(call, request)
        @call = call
        @request = request
      end

      # @param stream [Stream] the client's side
      # @return [void]
      # @raise [UpstreamError] if the client's side lagged too far behind
      # @raise [ClientDisconnected] if the client left
      def call(stream)
        upward = Async { send_upward }
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

      def send_upward
        input = @request.input or return
        while (chunk = input.read_available)
          return unless @call.write(chunk)
        end
        @call.finish
      rescue IOError, ClientDisconnected
        nil # The client's side is over, and the other direction finds out by itself.
      end
    end
  end
end
