# frozen_string_literal: true

# One request in flight as the Ruby half sees it: its calls to Rust, its parked fibers, its state; owner thread only.

require_relative "errors"
require_relative "parking"

module Ruvoy
  # The state of one request, and the only object that makes calls for its id.
  #
  # Reading and writing park the calling fiber while Rust has no bytes or no room, and {#notify} wakes it.
  # Applications meet this object as `env["rack.early_hints"]`.
  class Request
    include Parking

    # The bits of an event, as Rust sends them. With REQUEST the others tell what a new request has: INPUT a body,
    # UPSTREAM leave to make upstream calls, UPGRADE the wish for another protocol, CONTEXT one of Envoy, HEAD the
    # method of that name.
    REQUEST = 1
    INPUT = 2
    WRITABLE = 4
    CANCEL = 8
    UPSTREAM = 16
    UPGRADE = 32
    CONTEXT = 64
    HEAD = 128

    # Where the request's trailers appear once its body has ended, and where the application puts those of the response.
    TRAILERS = "ruvoy.trailers"

    HINTS = 103
    # What makes an environment differ from that of most requests.
    SPECIAL = INPUT | UPSTREAM | UPGRADE | CONTEXT
    private_constant :HINTS, :SPECIAL

    # @return [Integer] the id that Rust knows it by
    attr_reader :id
    # @return [Hash, nil] Rack's environment, once it was built
    attr_reader :env
    # @return [Async::Task, nil] the task that serves it
    attr_accessor :task
    # @return [Input, nil] the request's body, if it has one
    attr_accessor :input
    # @return [Upstream, nil] what makes its upstream calls, if they are configured
    attr_accessor :upstream
    # @return [Hijack, nil] the way to a socket, if the client asks for an upgrade
    attr_accessor :hijack
    # @return [Array, nil] status, headers and body of the application's response
    attr_accessor :response
    # @return [Object, nil] the response's body, while it is not closed
    attr_accessor :unclosed

    # What {Headers} found in the response's headers.
    # @return [Integer, nil] the content length in bytes
    attr_accessor :content_length
    # @return [String, nil] the protocol that `rack.protocol` chose
    attr_accessor :protocol
    # @return [String, nil] the value of `upgrade`
    attr_accessor :upgrade

    # @param native [Module] Ruvoy::Native, or what has its methods
    # @param headers [Headers]
    # @param id [Integer]
    # @param bits [Integer] those of its event
    def initialize(native, headers, id, bits)
      @native = native
      @headers = headers
      @id = id
      @bits = bits
      @env = @task = @input = @upstream = @hijack = nil
      @response = @unclosed = nil
      @content_length = @protocol = @upgrade = nil
      @readers = @writers = nil
      @request_trailers = nil
      @state = :open
      @cancelled = @released = false
    end

    # @return [String] without the env, which holds what must not be shown by accident
    def inspect = "#<#{self.class} #{@id}>"

    # @return [Hash] a fresh Rack environment
    def build_env
      @env = @native.env(@id)
    end

    # @return [Boolean] whether its environment needs nothing that most do without
    def plain? = @bits.nobits?(SPECIAL)

    # @return [Boolean] whether the client wants no body; the application may change its env
    def head? = @bits.anybits?(HEAD)

    # @return [Boolean] whether a request body is expected
    def body? = @bits.anybits?(INPUT)

    # @return [Boolean] whether the client asks for another protocol
    def upgrade? = @bits.anybits?(UPGRADE)

    # @return [Boolean] whether Envoy's view of it is to be offered
    def context? = @bits.anybits?(CONTEXT)

    # @return [Boolean] whether it may make upstream calls
    def upstream? = @bits.anybits?(UPSTREAM)

    # @return [Boolean] whether the client left before the request was over
    def cancelled? = @cancelled

    # @return [Boolean] whether the response's head is out, so that no other response can be sent
    def started? = @state != :open

    # @return [Boolean] whether the response is complete or was reset
    def finished? = @state == :finished || @state == :concluded

    # Wakes the fibers that wait for what has happened, or interrupts the request's own.
    # @param bits [Integer] INPUT, WRITABLE, UPSTREAM and CANCEL combined
    # @return [void]
    def notify(bits)
      return cancel if bits.anybits?(CANCEL)

      wake_readers if bits.anybits?(INPUT)
      wake_writers if bits.anybits?(WRITABLE)
      @upstream&.notify if bits.anybits?(UPSTREAM)
    end

    # @!group The request's body

    # @param max [Integer] the most bytes to return, 1 or more
    # @return [String, false, nil] what has landed; false: nothing yet; nil: the body has ended
    # @raise [ClientDisconnected] if the client left, or the request is over
    def read(max)
      check_alive
      chunk = @native.read(@id, max)
      note_trailers if chunk.nil?
      chunk
    end

    # Parks the calling fiber until there is something to read, or {#wake_readers}.
    # @return [void]
    def wait_for_input
      @readers ||= []
      park(@readers)
    end

    # Makes every fiber that waits for input look again.
    # @return [void]
    def wake_readers
      waiting = @readers
      @readers = nil
      resume(waiting) if waiting
    end

    # @!endgroup
    # @!group The response

    # Sends 103 Early Hints. Ignored once the response has begun, and for HTTP/1.0 clients, which know no 1xx.
    # @param headers [Hash] as of a response
    # @return [nil]
    # @raise [ContractError] if a header is invalid
    def call(headers)
      fields = @headers.flatten(headers)
      return if started? || @env["SERVER_PROTOCOL"] == "HTTP/1.0"

      @native.informational(@id, HINTS, fields)
      nil
    end

    # Sends a complete response.
    # @param status [Integer]
    # @param fields [Array<String>] the flat header fields, without the length of a body that is given
    # @param body [String, nil] nil: the client gets none
    # @return [void]
    def respond(status, fields, body)
      @state = :finished
      @native.respond(@id, status, fields, body)
    end

    # Sends the head of a response whose body follows.
    # @return [void]
    def start(status, fields)
      @state = :started
      @native.start(@id, status, fields)
    end

    # Sends a piece of the body; parks the calling fiber while the client is too slow to take it.
    # @param string [String]
    # @return [void]
    # @raise [ClientDisconnected] if the client left, or the request is over
    def write(string)
      offset = 0
      while offset < string.bytesize
        check_alive
        taken = @native.write(@id, string, offset)
        taken.zero? ? wait_for_room : offset += taken
      end
    end

    # Sends the beginning of a file without reading it into Ruby; parks as {#write} does.
    # @param file [File] open for reading
    # @param length [Integer] how many bytes
    # @return [void]
    # @raise [ContractError] if the file has become shorter
    # @raise [ClientDisconnected] if the client left
    def write_file(file, length)
      offset = 0
      while offset < length
        taken = @native.write_file(@id, file.fileno, offset, length - offset)
        raise ContractError, "the file ended after #{offset} of #{length} bytes" if taken.negative?

        taken.zero? ? wait_for_room : offset += taken
      end
    end

    # Parks the calling fiber until there may be room for the response.
    # @return [void]
    def wait_for_room
      @writers ||= []
      park(@writers)
    end

    # Ends the response, with the application's trailers if it set any.
    # @return [void]
    # @raise [ContractError] if a trailer is invalid
    def finish
      return if finished?

      trailers = trailers? ? @headers.flatten(@env[TRAILERS]) : nil
      @state = :finished
      @native.finish(@id, trailers)
    end

    # Breaks the stream off: the client sees an error.
    # @return [void]
    def reset
      @state = :finished
      @native.reset(@id)
    end

    # @return [Boolean] whether the application set trailers for the response
    def trailers?
      trailers = @env[TRAILERS]
      !trailers.nil? && !trailers.equal?(@request_trailers)
    end

    # @!endgroup

    # From here on only cleaning up is left, which a client that leaves does not interrupt.
    # @return [void]
    def conclude
      @state = :concluded
    end

    # The last call of all: Rust forgets the id, and may give it to another request. Fibers that still use this one
    # (tasks that the application left running) get a ClientDisconnected from now on.
    # @return [void]
    def release
      @released = true
      @native.release(@id)
      wake if @readers || @writers
    end

    private

    # Interrupts the request's fiber at once, wherever it waits.
    def cancel
      return if @cancelled || @state == :concluded

      @cancelled = true
      @task&.stop
      wake
    end

    def check_alive
      raise ClientDisconnected, "the request is over" if @released
    end

    # Makes every fiber that waits look again, and learn that there is nothing to wait for.
    def wake
      wake_readers
      wake_writers
    end

    def wake_writers
      waiting = @writers
      @writers = nil
      resume(waiting) if waiting
    end

    def note_trailers
      return if @request_trailers || @env.frozen?

      @request_trailers = @native.request_trailers(@id)&.freeze
      @env[TRAILERS] ||= @request_trailers if @request_trailers
    end
  end
end
