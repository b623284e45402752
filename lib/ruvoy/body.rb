# frozen_string_literal: true

# Sends a response of any kind that Rack knows: Array, enumerable, file, streaming body; owner thread only.

require_relative "errors"
require_relative "headers"
require_relative "input"
require_relative "stream"
require_relative "upstream"

module Ruvoy
  # Decides by status, method and kind of body how a response crosses to Rust. The {Adapter} closes the body.
  class Body
    SWITCHING_PROTOCOLS = 101
    CONTENT_LENGTH = Headers::CONTENT_LENGTH
    private_constant :SWITCHING_PROTOCOLS, :CONTENT_LENGTH

    # @return [String] the chunk
    # @raise [ContractError] unless it is a String
    def self.check_chunk(chunk)
      return chunk if chunk.is_a?(String)

      raise ContractError, "a body consists of Strings, not of #{chunk.class}"
    end

    # @param buffer_bytes [Integer] a larger body crosses in pieces
    def initialize(buffer_bytes)
      @buffer_bytes = buffer_bytes
    end

    # Sends the response; parks the calling fiber while the client is too slow.
    # @param request [Request]
    # @param status [Integer]
    # @param fields [Array<String>] the flat header fields, without content-length
    # @param body [Object] Rack's body
    # @return [void]
    # @raise [ContractError] if status, body and content-length do not fit each other
    # @raise [ClientDisconnected] if the client left
    # @raise [Exception] whatever the body raises
    def deliver(request, status, fields, body)
      if (protocol = accepted_protocol(request, status, body))
        upgrade(request, fields, body, protocol)
      elsif status < 200
        raise ContractError, "the status #{status} cannot end a response"
      elsif request.head? || status == 204 || status == 304
        deliver_head(request, status, fields, body)
      else
        deliver_body(request, status, fields, body)
      end
    end

    private

    def deliver_body(request, status, fields, body)
      if body.is_a?(Array)
        deliver_array(request, status, fields, body)
      elsif (chunks = to_array(request, body))
        deliver_array(request, status, fields, chunks)
      elsif (file = open_file(body))
        deliver_file(request, status, fields, file)
      elsif body.respond_to?(:each)
        deliver_each(request, status, fields, body)
      elsif body.respond_to?(:call)
        deliver_call(request, status, fields, body)
      else
        raise ContractError, "a body responds to each or call, #{body.class} does not"
      end
    end

    # Rack: a body's to_ary closes it.
    def to_array(request, body)
      return unless body.respond_to?(:to_ary)

      request.unclosed = nil
      chunks = body.to_ary
      return chunks if chunks.is_a?(Array)

      request.unclosed = body
      nil
    end

    # @return [File, nil] nil: the body names no file, or one that only `each` can read (a pipe, a device)
    def open_file(body)
      return unless body.respond_to?(:to_path) && (path = body.to_path)

      file = File.open(path, "rb") # rubocop:disable Style/FileOpen -- deliver_file closes it
      return file if file.stat.file?

      file.close
      nil
    end

    # HEAD, 204 and 304: what the application said of the body is sent, the body is not.
    def deliver_head(request, status, fields, body)
      length = request.content_length
      length ||= implied_length(body) if request.head?
      append_length(fields, length) if length && status != 204
      request.respond(status, fields, nil)
    end

    # An Array or a file says what GET would send; an empty one may be what a middleware left of the body.
    def implied_length(body)
      if body.is_a?(Array)
        size = bytesize(without_nil(body))
        size unless size.zero?
      elsif body.respond_to?(:to_path) && (path = body.to_path) && File.file?(path)
        File.size?(path)
      end
    end

    def deliver_array(request, status, fields, chunks)
      whole = chunks[0] if chunks.size == 1 && chunks[0].is_a?(String)
      chunks = without_nil(chunks) unless whole
      size = whole ? whole.bytesize : bytesize(chunks)
      check_length(request.content_length, size)
      if size > @buffer_bytes || request.trailers?
        append_length(fields, size)
        request.start(status, fields)
        chunks.each { |chunk| request.write(chunk) }
        request.finish
      else
        request.respond(status, fields, whole || join(chunks, size))
      end
    end

    # As under Puma, nil in an Array is nothing.
    def without_nil(chunks) = chunks.include?(nil) ? chunks.compact : chunks

    def check_length(declared, size)
      return if declared.nil? || declared == size

      raise ContractError, "content-length is #{declared}, but the body has #{size} bytes"
    end

    def bytesize(chunks) = chunks.sum { |chunk| Body.check_chunk(chunk).bytesize }

    def join(chunks, size)
      chunks.each_with_object(String.new(capacity: size, encoding: Encoding::BINARY)) { |chunk, all| all << chunk.b }
    end

    def append_length(fields, length)
      fields << CONTENT_LENGTH << length.to_s
    end

    def deliver_file(request, status, fields, file)
      declared = request.content_length
      check_length(declared, file.size) if declared && declared > file.size
      length = declared || file.size
      append_length(fields, length)
      request.start(status, fields)
      request.write_file(file, length)
      request.finish
    ensure
      file.close
    end

    def deliver_each(request, status, fields, body)
      output = start(request, status, fields)
      if body.is_a?(Upstream::Body) && body.passable?(request)
        output.pass(body)
      else
        body.each { |chunk| output.write(chunk) }
      end
      output.finish
    end

    def deliver_call(request, status, fields, body)
      stream(request, start(request, status, fields), body)
    end

    def start(request, status, fields)
      length = request.content_length
      append_length(fields, length) if length
      request.start(status, fields)
      Output.new(request, length)
    end

    # A body may hand the stream over to tasks that it started; the response ends when they have.
    def stream(request, output, body)
      stream = Stream.new(request.input || Input::EMPTY, output)
      body.call(stream)
      request.task.wait_all unless stream.write_closed?
      output.finish
    end

    # @return [String, nil] the protocol that the response switches to
    def accepted_protocol(request, status, body)
      if status == SWITCHING_PROTOCOLS
        protocol = request.protocol || request.upgrade
        raise ContractError, "status 101 without rack.protocol" if protocol.nil?
      else
        protocol = request.protocol || (implied_protocol(request, body) if request.upgrade?)
        return if protocol.nil? || !status.between?(200, 299)
      end
      check_offered(request, protocol)
      protocol
    end

    # To an extended CONNECT any 2xx is consent (RFC 8441, section 5), so that a library may leave the protocol out.
    def implied_protocol(request, body)
      offered = request.env["rack.protocol"]
      offered.first if offered && request.env["SERVER_PROTOCOL"] != "HTTP/1.1" && streaming?(body)
    end

    def check_offered(request, protocol)
      offered = request.env["rack.protocol"]
      return if protocol.is_a?(String) && offered&.any? { |one| one.casecmp?(protocol) }

      raise ContractError, "the client did not offer the protocol #{protocol.inspect}"
    end

    def upgrade(request, fields, body, protocol)
      raise ContractError, "an upgrade wants a streaming body, not #{body.class}" unless streaming?(body)

      fields << "upgrade" << protocol << "connection" << "upgrade"
      request.input = Input.new(request)
      request.start(SWITCHING_PROTOCOLS, fields)
      stream(request, Output.new(request, nil), body)
    end

    def streaming?(body) = body.respond_to?(:call) && !body.respond_to?(:each)

    # The body of one response on its way, which must be as long as its content-length says.
    class Output
      # @param request [Request] whose head is out
      # @param length [Integer, nil] the announced bytes
      def initialize(request, length)
        @request = request
        @length = length
        @written = 0
      end

      # @param chunk [String]
      # @return [Integer] its bytes
      # @raise [ContractError] if it is no String, or goes beyond the content-length; nothing of it was sent then
      # @raise [ClientDisconnected] if the client left
      def write(chunk)
        size = Body.check_chunk(chunk).bytesize
        check_room(size) if @length
        @request.write(chunk)
        @written += size
        size
      end

      # Moves the body of an upstream's answer, which makes no Strings of it.
      # @param body [Upstream::Body] of a call of this request
      # @return [void]
      # @raise [ContractError] if it goes beyond the content-length
      # @raise [UpstreamError] if it broke off, or could not be moved in time
      # @raise [ClientDisconnected] if the client left
      def pass(body)
        body.pass(@request) do |size|
          check_room(size) if @length
          @written += size
        end
      end

      # Ends the response, once.
      # @return [void]
      # @raise [ContractError] if it is shorter than its content-length
      def finish
        return if @request.finished?
        raise ContractError, "the body ended after #{@written} of #{@length} bytes" if @length && @written < @length

        @request.finish
      end

      private

      def check_room(size)
        return if @written + size <= @length

        raise ContractError, "the body is longer than its content-length of #{@length} bytes"
      end
    end
  end
end
