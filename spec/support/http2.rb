# frozen_string_literal: true

# A small HTTP/2 client with prior knowledge that leaves every frame in the hands of the spec.
# It does not obey the peer's windows: send large bodies with curl.

require "protocol/hpack"
require "socket"
require_relative "http1"
require_relative "whole_body"

module HTTP2
  PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
  DATA = 0
  HEADERS = 1
  RST_STREAM = 3
  SETTINGS = 4
  PING = 6
  GOAWAY = 7
  WINDOW_UPDATE = 8
  END_STREAM = 1
  ACK = 1
  END_HEADERS = 4
  CANCEL = 8
  FRAME_BYTES = 16_384
  WINDOW = (2**31) - 1 - 65_535

  # A connection; frames of streams that nobody waits for are kept for them.
  class Connection
    def initialize(server)
      @socket = TCPSocket.new("127.0.0.1", server.port)
      @socket.timeout = HTTP1::Connection::TIMEOUT_S
      @socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1)
      @compressor = Protocol::HPACK::Context.new
      @decompressor = Protocol::HPACK::Context.new
      @pending = Hash.new { |streams, id| streams[id] = [] }
      @next_id = 1
      @socket.write(PREFACE)
      send_frame(SETTINGS, 0, 0, "")
    end

    # Opens a stream.
    # @return [Integer] its id
    def headers(fields, end_stream:)
      id = @next_id
      @next_id += 2
      block = Protocol::HPACK::Compressor.new(+"".b, @compressor).encode(fields)
      send_frame(HEADERS, END_HEADERS | (end_stream ? END_STREAM : 0), id, block)
      id
    end

    def data(id, bytes, end_stream: false)
      while bytes.bytesize > FRAME_BYTES
        send_frame(DATA, 0, id, bytes.byteslice(0, FRAME_BYTES))
        bytes = bytes.byteslice(FRAME_BYTES..)
      end
      send_frame(DATA, end_stream ? END_STREAM : 0, id, bytes)
    end

    def reset(id, code = CANCEL) = send_frame(RST_STREAM, 0, id, [code].pack("N"))

    # @param id [Integer] 0 for the connection
    def widen(id, bytes) = send_frame(WINDOW_UPDATE, 0, id, [bytes].pack("N"))

    # @return [Array] the next of a stream's own frames: its kind, the flags and the payload (headers decoded)
    def next_frame(id)
      receive while @pending[id].empty?
      @pending[id].shift
    end

    def readable?(seconds) = !@socket.wait_readable(seconds).nil?
    def close = @socket.close

    def send_frame(kind, flags, id, payload)
      @socket.write([payload.bytesize >> 16, payload.bytesize & 0xffff, kind, flags, id].pack("CnCCN"), payload)
    rescue Errno::EPIPE, Errno::ECONNRESET => e
      raise HTTP1::Broken, e.message
    end

    private

    def receive
      kind, flags, id, payload = read_frame
      case kind
      when SETTINGS then send_frame(SETTINGS, ACK, 0, "") if flags.nobits?(ACK)
      when PING then send_frame(PING, ACK, 0, payload) if flags.nobits?(ACK)
      when GOAWAY then raise HTTP1::Broken, "GOAWAY" unless payload.unpack1("@4N").zero?
      when HEADERS then @pending[id] << [kind, flags, decode(payload)]
      when DATA, RST_STREAM then @pending[id] << [kind, flags, payload]
      end
    end

    def decode(block) = Protocol::HPACK::Decompressor.new(block, @decompressor).decode

    def read_frame
      high, low, kind, flags, id = exactly(9).unpack("CnCCN")
      [kind, flags, id & 0x7fffffff, exactly((high << 16) | low)]
    end

    def exactly(length)
      return "" if length.zero?

      bytes = @socket.read(length)
      raise HTTP1::Broken, "the connection is closed" if bytes.nil? || bytes.bytesize < length

      bytes
    rescue Errno::ECONNRESET => e
      raise HTTP1::Broken, e.message
    end
  end

  # One request and its answer; HTTP1::Exchange has the same methods.
  class Exchange
    include WholeBody

    attr_reader :trailers

    # @param connection [Connection, nil] to share one; its own otherwise
    def initialize(server, verb, path, body: nil, headers: {}, connection: nil)
      @shared = connection
      @connection = connection || Connection.new(server)
      @connection.widen(0, WINDOW) unless connection
      fields = [[":method", verb], [":scheme", "http"], [":authority", "example.test"], [":path", path]]
      fields.concat(headers.map { |name, value| [name, value.to_s] })
      fields << ["content-length", body.bytesize.to_s] if body.is_a?(String)
      @id = @connection.headers(fields, end_stream: body.nil?)
      @connection.widen(@id, WINDOW)
      @connection.data(@id, body, end_stream: true) if body.is_a?(String)
    end

    def write(bytes) = @connection.data(@id, bytes)
    def finish = @connection.data(@id, "", end_stream: true)

    def head
      @head ||= loop do
        fields = next_of(HEADERS)
        status = fields.shift.last.to_i # :status comes first
        break HTTP1::Head.new(status, fields) unless status.between?(100, 199)
      end
    end

    def status = head.status

    def read
      head
      return if @done

      piece = next_of(DATA)
      piece = next_of(DATA) while piece&.empty? && !@done
      piece unless piece.nil? || piece.empty?
    end

    def readable?(seconds) = @connection.readable?(seconds)

    # Resets the stream; the connection lives on for others if it is shared.
    def cancel
      @connection.reset(@id)
      @connection.close unless @shared
    end

    def close = (@connection.close unless @shared)

    private

    def next_of(wanted)
      return if @done

      kind, flags, content = @connection.next_frame(@id)
      raise HTTP1::Broken, "RST_STREAM #{content.unpack1("N")}" if kind == RST_STREAM

      @done = flags.anybits?(END_STREAM)
      return content if kind == wanted

      @trailers = content if kind == HEADERS
      nil
    end
  end
end
