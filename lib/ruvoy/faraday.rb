# frozen_string_literal: true

# `require "ruvoy/faraday"`: a Faraday adapter through which existing code makes upstream calls.

require "faraday"
require_relative "errors"
require_relative "upstream"

module Ruvoy
  # Calls Envoy's clusters: the URL's host names the cluster, and its path and query are sent. Scheme and port say
  # nothing, since the cluster knows where it is and what it speaks.
  #
  # The calling fiber waits as in {Upstream#call}, so calls are made while a request is served. `timeout` (or
  # `read_timeout`) works; `open_timeout`, proxies and TLS settings belong to the cluster. What Envoy answers when it
  # cannot reach the upstream is an ordinary 503 or 504. With `on_data` the answer is streamed.
  #
  # @example
  #   require "ruvoy/faraday"
  #   users = Faraday.new("http://users") { |faraday| faraday.adapter :ruvoy }
  #   users.get("/users/1").body
  class FaradayAdapter < Faraday::Adapter
    # How much of an IO is read at once.
    CHUNK_BYTES = 65_536
    private_constant :CHUNK_BYTES

    # @param app [#call, nil] Faraday's own
    # @param options [Hash] `:upstream`, an {Upstream} to use instead of the current request's
    def initialize(app = nil, options = {}, &)
      super(app, options.except(:upstream), &)
      @upstream = options[:upstream]
    end

    # @param env [Faraday::Env]
    # @return [Faraday::Response]
    # @raise [Faraday::ConnectionFailed] where {Upstream#call} raises an UpstreamError, and outside of a request
    # @raise [ArgumentError] if the host names no cluster that may be called
    def call(env)
      super
      status, headers, body = env.stream_response? ? stream(env) : upstream.call(*target(env), **arguments(env))
      save_response(env, status, String.new(body), fields(headers))
      @app.call(env)
    rescue UpstreamError => e
      raise Faraday::ConnectionFailed, e
    end

    private

    def upstream
      @upstream || Upstream.current || raise(UpstreamError, "no request is being served, so there is no Envoy to call")
    end

    def target(env) = [env.url.hostname, env.method, env.url.request_uri]

    def arguments(env)
      timeout = request_timeout(:read, env.request)
      { headers: env.request_headers, body: body(env.body), timeout: timeout }
    end

    # An IO is sent piece by piece, and not line by line as its `each` would.
    def body(body)
      return body unless body.respond_to?(:read)

      Enumerator.new do |chunks|
        while (chunk = body.read(CHUNK_BYTES))
          chunks << chunk
        end
      end
    end

    def stream(env)
      status, headers, chunks = upstream.stream(*target(env), **arguments(env))
      # `on_data` may ask for them.
      env.status = status
      env.response_headers = Faraday::Utils::Headers.new(fields(headers))
      env.stream_response { |&on_data| chunks.each(&on_data) }
      [status, headers, ""]
    ensure
      chunks&.close
    end

    def fields(headers) = headers.transform_values { |value| Array(value).join(", ") }
  end
end

Faraday::Adapter.register_middleware(ruvoy: Ruvoy::FaradayAdapter)
