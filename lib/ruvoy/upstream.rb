# frozen_string_literal: true

# `env["ruvoy.upstream"]`: calls to Envoy's clusters while a request is served; owner thread only.

require_relative "errors"
require_relative "input"
require_relative "parking"
require_relative "upstream/answer"
require_relative "upstream/body"
require_relative "upstream/call"
require_relative "upstream/outgoing"
require_relative "upstream/relay"

module Ruvoy
  # Calls go from the request's own worker through the cluster's connection pool, TLS, retries and circuit breakers.
  # The calling fiber waits without holding the thread, so that the calls of one request overlap if they are made in
  # tasks of their own. When the request ends, its calls in flight are reset.
  #
  # There is one only if the filter's configuration has the key `upstream`.
  #
  # An answer of Envoy's own is an ordinary one: 504 if the upstream took too long, 503 if it could not be reached.
  #
  # @example Two calls at once
  #   user = Async { upstream.call("users", "GET", "/users/1") }
  #   cart = Async { upstream.call("carts", "GET", "/carts/1") }
  #   [user.wait, cart.wait]
  # @example A proxy
  #   run ->(env) { env["ruvoy.upstream"].stream("backend", env["REQUEST_METHOD"], env["REQUEST_URI"]) }
  class Upstream
    include Parking

    # Where code that does not get the env finds the request's own in the fiber's storage, see {.current}.
    STORAGE_KEY = :ruvoy_upstream
    private_constant :STORAGE_KEY

    # @return [Upstream, nil] that of the request which the calling fiber, or the task that started it, serves
    def self.current = Fiber[STORAGE_KEY]

    # Makes it {.current} for the calling fiber.
    # @param upstream [Upstream]
    # @return [Upstream]
    def self.current=(upstream)
      Fiber[STORAGE_KEY] = upstream
    end

    # @param native [Module] Ruvoy::Native, or what has its methods
    # @param request [Request] whose env has been built
    def initialize(native, request)
      @native = native
      @request = request
      @thread = Thread.current
      @calls = {}
      @ending = []
      @closed = false
    end

    # Sends a request and waits for the whole answer, of at most `upstream.max_response_bytes`.
    #
    # The request's trace context (`traceparent` and `tracestate`, `x-request-id`, B3) goes along unless `headers` has
    # its own. `host` is the cluster's name unless `headers` or `upstream.origins` says otherwise. Envoy's own fields
    # work: `"x-envoy-retry-on" => "5xx"` makes it retry, with bodies up to 64 KiB.
    #
    # @param cluster [String, Symbol] one of `upstream.clusters`
    # @param method [String, Symbol] such as "GET"
    # @param path [String] path and query
    # @param headers [Hash{String, Symbol => String, Array<String>, nil}] nil: not sent; hop-by-hop fields are dropped
    # @param body [String, Array<String>, #each, nil] an enumerable (such as `rack.input`) is sent as it yields, by a
    #   task of its own
    # @param timeout [Numeric, nil] in seconds, until the answer is complete; nil: `upstream.timeout_ms`
    # @return [Array(Integer, Hash{String => String, Array<String>}, Answer)] the status, the headers (a repeated one is
    #   an Array) and the body: a String, which Rack takes as a body too
    # @raise [ArgumentError] for an argument that cannot be sent, named in the message; nothing was sent then
    # @raise [UpstreamResponseTooLarge] if the answer is larger than `upstream.max_response_bytes`
    # @raise [UpstreamError] if the request could not be sent, the answer broke off, or the request being served ended
    # @raise [ThreadError] on another thread
    # @raise [Exception] whatever an enumerable `body` raises
    def call(cluster, method, path, headers: {}, body: nil, timeout: nil)
      call = start(true, { cluster:, method:, path:, headers:, body:, timeout: })
      status, headers = call.head
      [status, headers, Answer.new(call.rest)]
    ensure
      call&.cancel
    end

    # Sends a request and waits for the head of the answer, whose body yields as it lands. The result can be returned as
    # a Rack response as it is. A reader that lags more than `upstream.stream_buffer_bytes` behind gets an
    # {UpstreamError}: there is no way to make the upstream wait.
    #
    # @param cluster [String, Symbol] as for {#call}, as are all that are not listed
    # @param method [String, Symbol]
    # @param path [String]
    # @param headers [Hash{String, Symbol => String, Array<String>, nil}]
    # @param body [String, Array<String>, #each, nil]
    # @param timeout [Numeric, nil] in seconds, until the head is there; the body may take as long as it wants
    # @param protocol [String, nil] such as "websocket": asks the upstream to switch to it, as the client did. If the
    #   answer is 101, returning it switches the client too and relays both ways
    # @return [Array(Integer, Hash{String => String, Array<String>}, Body)] or with a {Relay} for a body, if the
    #   upstream switched
    # @raise [ArgumentError] as for {#call}, and if the client did not offer the protocol
    # @raise [UpstreamError] if the request could not be sent, or the request being served ended
    # @raise [ThreadError] on another thread
    # @raise [Exception] whatever an enumerable `body` raises
    def stream(cluster, method, path, headers: {}, body: nil, timeout: nil, protocol: nil)
      call = start(false, { cluster:, method:, path:, headers:, body:, timeout:, protocol: })
      status, headers = call.head
      answer = status == 101 ? Relay.new(call, @request) : Body.new(call)
      [status, headers, answer]
    ensure
      call&.cancel unless answer
    end

    # @return [String] without the request
    def inspect = "#<#{self.class}>"

    # @!visibility private

    # Wakes the fibers for whose calls something has happened.
    # @return [void]
    def notify
      @native.upstream_ready(@request.id).each { |id| @calls[id]&.wake }
    end

    # The request has ended: no call is made any more, and whoever waits for one gets an {UpstreamError}.
    # @return [void]
    def close
      return if @closed

      @closed = true
      calls = @calls.values
      calls.each(&:cancel)
      resume(@ending)
    end

    # Rust says that the client has left, and the interruption is on its way: waits for that, so that it is not taken
    # for a failure of the application.
    # @return [void]
    def await_end
      park(@ending) unless @closed || @request.finished?
    end

    # @param request [Request]
    # @return [Boolean] whether it is this request's
    def of?(request) = request.equal?(@request)

    # @param call [Call] which is over
    # @return [void]
    def forget(call) = @calls.delete(call.id)

    private

    def start(whole, arguments)
      check_usable
      outgoing = Outgoing.new(@request, settings, arguments)
      native = open_call(whole, outgoing)
      refuse(native, outgoing.cluster) if native.is_a?(Symbol)

      call = Call.new(self, native, outgoing, timeout: outgoing.own_timeout(whole:))
      @calls[call.id] = call
      call.start(@request.task)
    end

    def refuse(reason, cluster)
      await_end if reason == :abandoned
      raise Call.error(reason, cluster)
    end

    def check_usable
      unless Thread.current.equal?(@thread)
        raise ThreadError, "upstream calls are made on the server's own thread, not in Ruvoy.offload or another thread"
      end
      raise UpstreamError, "the request has ended" if @closed
    end

    def settings
      @settings ||= @native.upstream_settings(@request.id) or raise UpstreamError, "the request has ended"
    end

    def open_call(whole, outgoing)
      timeout_ms = outgoing.envoy_timeout_ms(whole:)
      return @native.upstream_call(@request.id, outgoing.cluster, timeout_ms) if whole

      @native.upstream_stream(@request.id, outgoing.cluster, timeout_ms)
    end
  end
end
