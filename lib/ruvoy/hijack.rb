# frozen_string_literal: true

# Rack's full hijack for upgrade requests: a socket for the application, relayed to the client; owner thread only.

require "socket"
require_relative "errors"
require_relative "input"

module Ruvoy
  # Envoy keeps the client's connection to itself, so that the application gets one end of a pair of sockets and may use
  # it on any thread. The head that it writes there becomes the response's; what follows crosses both ways as it is.
  #
  # Applications meet this object as `env["rack.hijack"]`, where the client asks for an upgrade over HTTP/1.1: Action
  # Cable, faye-websocket and others that were made before Rack had streaming bodies.
  class Hijack
    # The most bytes of a response's head, and of one piece.
    HEAD_BYTES = 65_536
    PIECE_BYTES = 16_384
    SWITCHING_PROTOCOLS = 101
    private_constant :HEAD_BYTES, :PIECE_BYTES, :SWITCHING_PROTOCOLS

    # @param request [Request]
    # @param headers [Headers]
    def initialize(request, headers)
      @request = request
      @headers = headers
      @io = @relay = @error = nil
    end

    # @return [Boolean] whether the application took the connection over
    def taken? = !@io.nil?

    # Takes the connection over: the application's response is ignored from now on.
    # @return [UNIXSocket] the same each time
    def call
      return @io if @io

      @socket, @io = UNIXSocket.pair
      @request.env["rack.hijack_io"] = @io
      @relay = @request.task.async { relay }
      @io
    end

    # Parks the calling fiber until the connection has ended.
    # @return [void]
    # @raise [ClientDisconnected] if the client left
    # @raise [ContractError] if the application wrote no head of HTTP/1
    def wait
      @relay.wait
      raise @error if @error
    end

    # Ends what is left; the application sees the end of its socket.
    # @return [void]
    def close
      @relay&.stop
      @socket&.close
    end

    private

    def relay
      answer(*read_head)
      copy_output
      @request.finish
    rescue StandardError => e
      @error = e
    ensure
      @socket.close
    end

    # @return [Array] status, headers, and the bytes that came with the head
    def read_head
      bytes = String.new(encoding: Encoding::BINARY)
      until (size = bytes.index("\r\n\r\n"))
        raise ContractError, "no head of HTTP/1 on the hijacked connection" if bytes.bytesize > HEAD_BYTES

        bytes << @socket.readpartial(PIECE_BYTES)
      end
      line, *fields = bytes.byteslice(0, size).split("\r\n")
      [parse_status(line), parse_fields(fields), bytes.byteslice((size + 4)..)]
    rescue EOFError, SystemCallError
      raise ContractError, "the hijacked connection was closed without an answer"
    end

    def parse_status(line)
      line[%r{\AHTTP/1\.[01] ([1-5]\d\d)(?: |\z)}, 1]&.to_i or
        raise ContractError, "no status line on the hijacked connection: #{line.inspect}"
    end

    def parse_fields(lines)
      lines.each_with_object({}) do |line, fields|
        name, value = line.split(":", 2)
        (fields[name] ||= []) << value.to_s.strip
      end
    end

    def answer(status, headers, rest)
      fields = @headers.flatten(headers, @request)
      if status == SWITCHING_PROTOCOLS
        fields << "upgrade" << @request.env["rack.protocol"].first << "connection" << "upgrade"
        @relay.async { copy_input }
      elsif status < 200
        raise ContractError, "the status #{status} cannot end a response"
      elsif @request.content_length
        fields << Headers::CONTENT_LENGTH << @request.content_length.to_s
      end
      @request.start(status, fields)
      @request.write(rest)
    end

    def copy_output
      loop { @request.write(@socket.readpartial(PIECE_BYTES)) }
    rescue EOFError, Errno::ECONNRESET
      nil
    end

    def copy_input
      input = Input.new(@request).forget
      while (bytes = input.read_available(PIECE_BYTES))
        @socket.write(bytes)
      end
      @socket.close_write
    rescue ClientDisconnected, IOError, SystemCallError
      nil # Whoever writes the other way is told.
    end
  end
end
