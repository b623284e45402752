# frozen_string_literal: true

# HTTP/1.1 over a bare socket: sends exactly the bytes it is told to and reads answers piece by piece.

require "socket"
require_relative "whole_body"

module HTTP1
  # The peer broke the message off.
  class Broken < StandardError; end

  Head = Struct.new(:status, :fields) do
    # @return [String, nil] the values of a header, joined
    def [](name)
      values = fields.filter_map { |key, value| value if key == name }
      values.join(", ") unless values.empty?
    end
  end

  # A connection. Every wait on it is bounded by TIMEOUT_S.
  class Connection
    TIMEOUT_S = 60

    def initialize(server)
      @socket = TCPSocket.new("127.0.0.1", server.port)
      @socket.timeout = TIMEOUT_S
      @socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1)
    end

    def write(bytes) = @socket.write(bytes)

    # @return [Head] the next head, interim ones (1xx) included
    def read_head
      status = line[%r{\AHTTP/1\.1 (\d{3})}, 1] or raise Broken, "not a status line"
      fields = []
      until (field = line).empty?
        name, value = field.split(":", 2)
        fields << [name.downcase, value.strip]
      end
      Head.new(status.to_i, fields)
    end

    # @return [String] a line without its end
    def line = guarded { @socket.gets("\r\n", chomp: true) }

    # @return [String] exactly so many bytes
    def read(length)
      bytes = guarded { @socket.read(length) }
      raise Broken, "the body ends early" if bytes.bytesize < length

      bytes
    end

    # Ruby 3.3's readpartial knows no timeout.
    def read_some(max = 65_536) = guarded { readable?(TIMEOUT_S) && @socket.readpartial(max) }

    # Waits up to `seconds` for something to read; a way to let time pass that answers early.
    def readable?(seconds) = !@socket.wait_readable(seconds).nil?

    def closed_by_peer?
      @socket.timeout = TIMEOUT_S
      @socket.read(1).nil?
    rescue Errno::ECONNRESET
      true
    end

    def half_close = @socket.close_write
    def close = @socket.close

    # Closes with a TCP reset, as a crashed client does.
    def abort
      @socket.setsockopt(Socket::Option.linger(true, 0))
      @socket.close
    end

    private

    def guarded
      yield or raise Broken, "the connection is closed"
    rescue EOFError, Errno::ECONNRESET, Errno::EPIPE => e
      raise Broken, e.message
    end
  end

  # One request and its answer on a connection of its own; HTTP2::Exchange has the same methods.
  class Exchange
    include WholeBody

    # @param body [String, Symbol, nil] the whole body, or :stream to send it by `write` and `finish`
    def initialize(server, verb, path, body: nil, headers: {})
      @connection = Connection.new(server)
      @verb = verb
      fields = { "host" => "example.test", **headers }
      fields["transfer-encoding"] = "chunked" if body == :stream
      fields["content-length"] = body.bytesize if body.is_a?(String)
      @connection.write("#{verb} #{path} HTTP/1.1\r\n#{fields.map { |name, value| "#{name}: #{value}\r\n" }.join}\r\n")
      @connection.write(body) if body.is_a?(String)
    end

    def write(bytes) = @connection.write("#{bytes.bytesize.to_s(16)}\r\n#{bytes}\r\n")
    def finish = @connection.write("0\r\n\r\n")

    # @return [Head] the final head
    def head
      @head ||= loop do
        head = @connection.read_head
        break head unless head.status.between?(100, 199)
      end
    end

    def status = head.status

    # @return [String, nil] the next piece of the body as it comes, nil at its end
    # @raise [Broken] if the answer is cut off
    def read
      return if @done

      piece = next_piece
      @done = piece.nil?
      piece
    end

    def readable?(seconds) = @connection.readable?(seconds)

    # Leaves without a word.
    def cancel = @connection.abort
    def close = @connection.close

    private

    def next_piece
      return if @verb == "HEAD" || [204, 304].include?(status)
      return next_chunk if head["transfer-encoding"] == "chunked"

      @left ||= Integer(head["content-length"] || 0)
      return if @left.zero?

      piece = @connection.read_some([@left, 65_536].min)
      @left -= piece.bytesize
      piece
    end

    def next_chunk
      size = @connection.line.hex
      piece = @connection.read(size) if size.positive?
      trailer = @connection.line
      trailer = @connection.line until piece || trailer.empty?
      piece
    end
  end
end
