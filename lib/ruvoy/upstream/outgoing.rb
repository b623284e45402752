# frozen_string_literal: true

# The request of an upstream call: checks what the application gave and turns it into what crosses to Rust.

require "securerandom"
require_relative "../headers"
require_relative "../input"

module Ruvoy
  class Upstream
    # A checked request. Whatever cannot be sent is an ArgumentError whose message begins with the argument's name.
    class Outgoing
      # The request's own fields that go along, in groups: whoever sets one of a group sets all of it.
      TRACE = [
        { "HTTP_TRACEPARENT" => "traceparent", "HTTP_TRACESTATE" => "tracestate" },
        { "HTTP_X_REQUEST_ID" => "x-request-id" },
        { "HTTP_B3" => "b3", "HTTP_X_B3_TRACEID" => "x-b3-traceid", "HTTP_X_B3_SPANID" => "x-b3-spanid",
          "HTTP_X_B3_PARENTSPANID" => "x-b3-parentspanid", "HTTP_X_B3_SAMPLED" => "x-b3-sampled",
          "HTTP_X_B3_FLAGS" => "x-b3-flags" }
      ].freeze
      # The same for a WebSocket's handshake, field by field.
      WEBSOCKET = {
        "HTTP_SEC_WEBSOCKET_KEY" => "sec-websocket-key", "HTTP_SEC_WEBSOCKET_VERSION" => "sec-websocket-version",
        "HTTP_SEC_WEBSOCKET_PROTOCOL" => "sec-websocket-protocol",
        "HTTP_SEC_WEBSOCKET_EXTENSIONS" => "sec-websocket-extensions"
      }.freeze

      # Fields of one connection, which neither side hears of from the other.
      HOP_BY_HOP = [*Headers::HOP_BY_HOP, "upgrade", "trailer"].freeze

      # Methods whose requests have a body, if an empty one.
      WITH_BODY = %w[POST PUT PATCH].freeze

      # RFC 9110 section 5.6.2, and what a field's value must not contain.
      TOKEN = /\A[!#$%&'*+\-.^_`|~0-9A-Za-z]+\z/
      FORBIDDEN = /[\0\r\n]/n
      # A path and a query in visible characters.
      PATH = %r{\A/[!"$-~]*\z}
      MAX_TIMEOUT_SECONDS = 86_400

      private_constant :TRACE, :WEBSOCKET, :HOP_BY_HOP, :WITH_BODY, :TOKEN, :FORBIDDEN, :PATH, :MAX_TIMEOUT_SECONDS

      # @return [String]
      attr_reader :cluster
      # @return [Array<String>] names and values in turn
      attr_reader :fields
      # @return [String, nil] the whole body
      attr_reader :body
      # @return [#each, nil] the body that is enumerated
      attr_reader :enumerable

      # @param request [Request] which the application serves
      # @param settings [Array] the clusters, scheme and host of each origin, the timeout in seconds
      # @param arguments [Hash] those of {Upstream#stream}
      # @raise [ArgumentError]
      def initialize(request, settings, arguments)
        @request = request
        @env = request.env
        @clusters, @origins, @timeout = settings
        @cluster = check_cluster(arguments[:cluster])
        @method = check_method(arguments[:method])
        path = check_path(arguments[:path])
        headers = check_headers(arguments[:headers])
        @protocol = check_protocol(arguments[:protocol])
        take_body(arguments[:body])
        @timeout = check_timeout(arguments[:timeout]) if arguments[:timeout]
        @fields = build_fields(path, headers)
      end

      # @return [Boolean] whether the body is sent piece by piece
      def body_follows? = !@enumerable.nil? || !@protocol.nil?

      # @param whole [Boolean] whether the answer is wanted whole
      # @return [Integer] how long Envoy may take, from the request's end to the answer's; 0: for ever
      def envoy_timeout_ms(whole:) = whole ? (@timeout * 1000).ceil : 0

      # @param whole [Boolean]
      # @return [Numeric, nil] the seconds that Envoy cannot count: until a head only, or from before the request's end
      def own_timeout(whole:) = whole && !body_follows? ? nil : @timeout

      # @param status [Integer] of the answer
      # @param fields [Array<String>] the answer's, flat
      # @return [Hash{String => String, Array<String>}]
      def answer_headers(status, fields)
        headers = {}
        fields.each_slice(2) do |name, value|
          earlier = headers[name]
          headers[name] = earlier ? [*earlier, value] : value
        end
        drop_hop_by_hop(headers)
        switch(headers) if status == 101
        headers
      end

      private

      def check_cluster(cluster)
        name = cluster.to_s
        return name if @clusters.include?(name)

        invalid "cluster", "#{cluster.inspect} is not among upstream.clusters (#{@clusters.join(", ")})"
      end

      def check_method(method)
        name = method.is_a?(Symbol) ? method.name.upcase : method
        return name if name.is_a?(String) && name.match?(TOKEN) && name != "CONNECT"

        invalid "method", "#{method.inspect} cannot be sent"
      end

      def check_path(path)
        return path if path.is_a?(String) && path.match?(PATH)
        return path if path == "*" && @method == "OPTIONS"

        invalid "path", "#{path.inspect} is no path that begins with / and is percent-encoded"
      end

      # @return [Hash{String => Array<String>}]
      def check_headers(headers)
        hash = Hash.try_convert(headers) or invalid "headers", "must be a Hash, not #{headers.class}"
        hash.each_with_object({}) do |(name, value), checked|
          values = value.is_a?(Array) ? value : [value]
          values = values.compact.map { |one| check_value(name, one) }
          (checked[check_name(name)] ||= []).concat(values) unless values.empty?
        end
      end

      def check_name(name)
        text = name.is_a?(Symbol) ? name.name : name
        return text.downcase if text.is_a?(String) && text.match?(TOKEN)

        invalid "headers", "#{name.inspect} is no header name"
      end

      def check_value(name, value)
        text = value.to_s
        return text unless text.b.match?(FORBIDDEN)

        invalid "headers", "the value of #{name} contains CR, LF or NUL: #{text.inspect}"
      end

      def check_protocol(protocol)
        return if protocol.nil?
        return protocol if protocol.is_a?(String) && @env["rack.protocol"]&.any? { |one| one.casecmp?(protocol) }

        invalid "protocol", "the client did not offer #{protocol.inspect}"
      end

      def check_timeout(timeout)
        return timeout if timeout.is_a?(Numeric) && timeout.real? && timeout.positive? && timeout <= MAX_TIMEOUT_SECONDS

        invalid "timeout", "must be a number of seconds above 0, #{MAX_TIMEOUT_SECONDS} at most, not #{timeout.inspect}"
      end

      def take_body(body)
        case body
        when nil then nil
        when String then @body = body
        when Array then @body = join(body)
        else @enumerable = check_enumerable(body)
        end
        invalid "body", "a request that switches protocols has none" if @protocol && (@body || @enumerable)
      end

      def join(chunks)
        chunks.each_with_object("".b) do |chunk, all|
          invalid "body", "consists of Strings, not of #{chunk.class}" unless chunk.is_a?(String)

          all << chunk.b
        end
      end

      # The input of a request that has no body is no body either.
      def check_enumerable(body)
        return if body.equal?(@env["rack.input"]) && @request.input.nil?
        return body if body.respond_to?(:each) && !body.is_a?(Hash)

        invalid "body", "must be a String, an Array or respond to each, which #{body.class} does not"
      end

      def build_fields(path, headers)
        scheme, default_host = @origins[@cluster]
        host = headers.delete("host")&.first || default_host || @cluster
        trace(headers)
        handshake(headers) if @protocol
        measure(headers)
        drop_hop_by_hop(headers)
        fields = [":method", @method, ":path", path, "host", host]
        fields << ":scheme" << scheme if scheme
        headers.each { |name, values| values.each { |value| fields << name << value } }
        fields << "connection" << "upgrade" << "upgrade" << @protocol if @protocol
        fields
      end

      def trace(headers)
        TRACE.each do |group|
          next if group.each_value.any? { |name| headers.key?(name) }

          group.each { |key, name| copy(headers, key, name) }
        end
      end

      # An HTTP/2 client has no key, so that its upstream gets one and the proof that it was read is dropped.
      def handshake(headers)
        @own_key = !@env.key?("HTTP_SEC_WEBSOCKET_KEY") && !headers.key?("sec-websocket-key")
        WEBSOCKET.each { |key, name| copy(headers, key, name) unless headers.key?(name) }
        headers["sec-websocket-key"] = [SecureRandom.base64(16)] if @own_key
      end

      def copy(headers, key, name)
        value = @env[key]
        headers[name] = [value] if value.is_a?(String)
      end

      # A whole body is announced by its length, and no other.
      def measure(headers)
        return if body_follows?

        declared = headers.delete("content-length")
        size = @body&.bytesize || 0
        unless declared.nil? || @body.nil? || declared.all?(size.to_s)
          invalid "headers", "content-length is #{declared.join(", ")}, but the body has #{size} bytes"
        end
        headers["content-length"] = [size.to_s] if size.positive? || WITH_BODY.include?(@method)
      end

      def drop_hop_by_hop(headers)
        named = headers["connection"]
        Array(named).each { |list| list.split(",").each { |name| headers.delete(name.strip.downcase) } } if named
        HOP_BY_HOP.each { |name| headers.delete(name) }
      end

      def switch(headers)
        headers["upgrade"] = @protocol
        headers.delete("sec-websocket-accept") if @own_key
      end

      def invalid(argument, problem)
        raise ArgumentError, "#{argument}: #{problem}"
      end
    end
  end
end
