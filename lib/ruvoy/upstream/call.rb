# frozen_string_literal: true

# One call on its way: the request's body going up, the fibers that wait, the answer coming down; owner thread only.

require "async"
require_relative "../errors"
require_relative "../parking"

module Ruvoy
  class Upstream
    # A call from its start to its end, which comes exactly once.
    class Call
      include Parking

      # The most bytes taken from Rust at once.
      READ_BYTES = 65_536
      # What Envoy answers when it gives up by itself.
      TIMEOUT_BODY = "upstream request timeout"
      TIMEOUT_HEADERS = { "content-length" => TIMEOUT_BODY.bytesize.to_s, "content-type" => "text/plain" }.freeze
      # Why a call failed, by Rust's names.
      MESSAGES = {
        no_cluster: "Envoy has no cluster %s",
        unavailable: "the cluster %s has no healthy host, or its circuit breaker is open",
        too_many: "the request has 1024 calls at once already; this one was to %s",
        overflow: "the body from %s was read too slowly: it lagged more than upstream.stream_buffer_bytes behind",
        total_overflow: "the body from %s found no room: all bodies hold as much as limits.total_buffer_bytes allows",
        too_large: "the answer from %s is larger than upstream.max_response_bytes",
        reset: "the answer from %s broke off",
        abandoned: "the request ended before the answer from %s was complete"
      }.freeze
      # How the wait for a head ends when it was too long.
      class TooLong < StandardError; end
      private_constant :READ_BYTES, :TIMEOUT_BODY, :TIMEOUT_HEADERS, :MESSAGES, :TooLong

      # @param reason [Symbol] Rust's name
      # @param cluster [String]
      # @return [UpstreamError]
      def self.error(reason, cluster)
        message = format(MESSAGES.fetch(reason), cluster)
        reason == :too_large ? UpstreamResponseTooLarge.new(message) : UpstreamError.new(message)
      end

      # @return [Integer] what Rust names it by
      attr_reader :id

      # @param upstream [Upstream]
      # @param native [Ruvoy::Native::Call] or what has its methods
      # @param outgoing [Outgoing]
      # @param timeout [Numeric, nil] how many seconds {#head} waits; nil: as long as Envoy does
      def initialize(upstream, native, outgoing, timeout:)
        @upstream = upstream
        @native = native
        @id = native.id
        @outgoing = outgoing
        @timeout = timeout
        @waiting = []
        @upload = @error = @local_body = nil
        @over = @complete = false
      end

      # Sends the request. A body that is enumerated is sent by a child of `task`.
      # @param task [Async::Task]
      # @return [self]
      def start(task)
        @native.start(@outgoing.fields, @outgoing.body_follows? || @outgoing.body)
        body = @outgoing.enumerable
        @upload = task.async(annotation: "upstream request body") { upload(body) } if body
        self
      end

      # Parks the calling fiber until the head has come, or all of the answer if it is wanted whole.
      # @return [Array(Integer, Hash)] status and headers
      # @raise [UpstreamError]
      # @raise [Exception] what the request's body raised
      def head
        status, fields = @timeout ? within(@timeout) { wait_for_head } : wait_for_head
        [status, @outgoing.answer_headers(status, fields)]
      rescue TooLong
        finish_locally
        [504, TIMEOUT_HEADERS.dup]
      end

      # Parks the calling fiber until a piece of the answer's body has come.
      # @return [String, nil] nil at its end
      # @raise [UpstreamError]
      # @raise [Exception] what the request's body raised
      def read
        return take_local_body if @complete

        chunk = wait_for { @native.read(READ_BYTES) }
        complete if chunk.nil?
        chunk
      end

      # @param request [Request]
      # @return [Boolean] whether {#pass} can move the answer into its response
      def passable?(request) = @upstream.of?(request) && @local_body.nil?

      # Moves a piece of the answer's body into the response without making a String of it; parks the calling fiber
      # until one has come and the client is not too slow for it.
      # @param request [Request] to which the call belongs and whose response has begun
      # @return [Integer, nil] its bytes; nil at the end of the body
      # @raise [UpstreamError]
      # @raise [ClientDisconnected] if the client left
      def pass(request)
        return if @complete

        request.wait_for_room while (size = wait_for { @native.pass })&.zero?
        complete if size.nil?
        size
      end

      # @return [String] what is left of the body
      # @raise [UpstreamError]
      def rest
        all = read or return "".b
        while (chunk = read)
          all << chunk
        end
        all
      end

      # Sends a piece of the request's body; parks the calling fiber while there is no room for it.
      # @param chunk [String]
      # @return [Boolean] whether the upstream still wants it
      # @raise [ArgumentError] if it is no String
      def write(chunk)
        raise ArgumentError, "body: consists of Strings, not of #{chunk.class}" unless chunk.is_a?(String)

        offset = 0
        while offset < chunk.bytesize
          return false if @over || (taken = @native.write(chunk, offset)).nil?

          taken.zero? ? park(@waiting) : offset += taken
        end
        true
      end

      # Ends the request's body.
      # @return [void]
      def finish = @native.finish

      # Nobody wants the answer any more; does nothing to a call that is over.
      # @return [void]
      def cancel
        close
        wake
      end

      # Makes every fiber that waits for this call look again.
      # @return [void]
      def wake
        waiting = @waiting
        @waiting = []
        resume(waiting)
      end

      private

      def within(seconds, &) = Fiber.scheduler.timeout_after(seconds, TooLong, "", &)

      def wait_for_head
        wait_for do
          found = @native.head
          # A part of the whole answer had come, so that Envoy could not say 504 any more.
          raise TooLong if found == :timed_out

          found
        end
      end

      # @return [Object, nil] what the block returns once that is not false; a Symbol is a reason to raise
      def wait_for
        until @over
          found = yield
          return found unless found == false || found.is_a?(Symbol)

          found ? give_up(found) : park(@waiting)
        end
        raise @error || self.class.error(:abandoned, @outgoing.cluster)
      end

      def give_up(reason)
        @upstream.await_end if reason == :abandoned
        close
        raise self.class.error(reason, @outgoing.cluster)
      end

      def complete
        @complete = true
        close
      end

      # Answers as Envoy does when its own timer fires.
      def finish_locally
        @local_body = TIMEOUT_BODY.b
        @complete = true
        close(timed_out: true)
      end

      def take_local_body
        body = @local_body
        @local_body = nil
        body
      end

      def close(timed_out: false)
        return if @over

        @over = true
        @native.forget(timed_out)
        @upstream.forget(self)
        upload = @upload
        @upload = nil
        upload&.cancel
      end

      def upload(body)
        body.each { |chunk| return unless write(chunk) } # rubocop:disable Lint/NonLocalExitFromIterator
        finish
      rescue StandardError => e
        @error = e
        @upload = nil
        cancel
      end
    end
  end
end
