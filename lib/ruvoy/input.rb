# frozen_string_literal: true

# `rack.input`: the request's body, read as it lands and kept for rewinding; owner thread only.

require_relative "errors"
require_relative "input/empty"
require_relative "input/kept"

module Ruvoy
  # The body of a request. Every method that reads may park the calling fiber until bytes have landed; what is unread
  # waits in Envoy, which stops reading the client.
  #
  # All Strings are binary. What was read is kept for {#rewind}: 128 KiB in memory, more in an unlinked temporary file.
  class Input
    # The most bytes taken from Rust at once where the caller names no number.
    CHUNK_BYTES = 65_536
    # The same while looking for the end of a line.
    LINE_BYTES = 1024
    private_constant :LINE_BYTES

    # @param request [Request] where the bytes come from
    def initialize(request)
      @request = request
      @kept = Kept.new
      @position = 0
      @rewindable = true
      @closed = false
    end

    # Reads like `IO#read`: waits until `length` bytes or the end of the body are there.
    # @param length [Integer, nil] in bytes; nil: everything up to the end
    # @param buffer [String, nil] takes the bytes instead of a new String
    # @return [String, nil] nil at the end of the body if a length above 0 was given
    # @raise [ArgumentError] if length is negative
    # @raise [IOError] after {#close}
    # @raise [ClientDisconnected] if the client left
    def read(length = nil, buffer = nil)
      check_open
      check_length(length) if length
      result = empty(buffer)
      fill(result, length) unless length&.zero?
      length&.positive? && result.empty? ? nil : result
    end

    # Reads what is there, at least a byte: waits only where nothing has landed.
    # @param max [Integer] in bytes
    # @param buffer [String, nil] takes the bytes instead of a new String
    # @return [String]
    # @raise [EOFError] at the end of the body
    # @raise [ArgumentError] if max is negative
    # @raise [IOError] after {#close}
    # @raise [ClientDisconnected] if the client left
    def readpartial(max, buffer = nil)
      read_available(max, buffer) or raise EOFError, "end of file reached"
    end

    # The same as {#readpartial}, but nil at the end of the body.
    # @param max [Integer] in bytes
    # @param buffer [String, nil]
    # @return [String, nil]
    # @raise [ArgumentError] if max is negative
    # @raise [IOError] after {#close}
    # @raise [ClientDisconnected] if the client left
    def read_available(max = CHUNK_BYTES, buffer = nil)
      check_open
      check_length(max)
      return empty(buffer) if max.zero?

      chunk = take(max)
      return chunk if buffer.nil?

      empty(buffer)
      move(chunk, buffer) if chunk
    end

    # Reads a line like `IO#gets`.
    # @param separator [String, nil] nil: everything up to the end
    # @param limit [Integer, nil] the most bytes to return
    # @param chomp [Boolean] whether to leave the separator out
    # @return [String, nil] nil at the end of the body
    # @raise [IOError] after {#close}
    # @raise [ClientDisconnected] if the client left
    def gets(separator = "\n", limit = nil, chomp: false)
      check_open
      return gets("\n", separator, chomp:) if separator.is_a?(Integer)
      return empty(nil) if limit&.zero?
      return rest(limit) if separator.nil?

      line = read_line(separator.b, limit)
      chomp && line ? line.chomp(separator) : line
    end

    # Yields the body as it lands, in pieces that need not be lines.
    # @yieldparam chunk [String]
    # @return [self, Enumerator] an Enumerator if no block is given
    # @raise [IOError] after {#close}
    # @raise [ClientDisconnected] if the client left
    def each
      return to_enum unless block_given?

      while (chunk = read_available)
        yield chunk
      end
      self
    end

    # Goes back to the first byte.
    # @return [Integer] 0
    # @raise [IOError] after {#close}, and once a streaming body has taken over
    def rewind
      check_open
      raise IOError, "the input of a streaming body is not kept" unless @rewindable

      @position = 0
    end

    # Says that the rest is not needed. A fiber that waits for input is woken and gets an IOError.
    # @return [nil]
    def close
      return if @closed

      @closed = true
      @kept.close
      @request.wake_readers
      nil
    end

    # @return [Boolean]
    def closed? = @closed

    # Stops keeping what is read from now on: a connection that was upgraded may never end.
    # @return [self]
    def forget
      @rewindable = false
      self
    end

    private

    def check_open
      raise IOError, "not opened for reading" if @closed
    end

    def check_length(length)
      raise ArgumentError, "negative length #{length} given" if length.negative?
    end

    def empty(buffer)
      buffer ? buffer.clear.force_encoding(Encoding::BINARY) : String.new(encoding: Encoding::BINARY)
    end

    # Appends length bytes, or everything.
    def fill(result, length)
      until result.bytesize == length
        chunk = take(length ? [length - result.bytesize, CHUNK_BYTES].min : CHUNK_BYTES) or return
        move(chunk, result)
      end
    end

    # Gives the piece's memory back at once: a large upload must not become as much garbage.
    def move(chunk, buffer)
      buffer << chunk
      chunk.clear
      buffer
    end

    # @return [String, nil] what is there: of what was kept, else of what has landed
    def take(max)
      if @position < @kept.bytesize
        chunk = @kept.read(@position, max)
      else
        start_over unless @rewindable
        chunk = land(max) or return
        @kept << chunk
      end
      @position += chunk.bytesize
      chunk
    end

    def start_over
      @kept.clear
      @position = 0
    end

    def land(max)
      while (chunk = @request.read(max)) == false
        @request.wait_for_input
        check_open
      end
      chunk
    end

    def rest(limit)
      return read(limit) if limit

      all = read
      all.empty? ? nil : all
    end

    def read_line(separator, limit)
      line = empty(nil)
      while (chunk = take(LINE_BYTES))
        from = [line.bytesize - separator.bytesize + 1, 0].max
        line << chunk
        index = line.byteindex(separator, from)
        size = [index && (index + separator.bytesize), limit].compact.min
        return cut(line, size) if size && size <= line.bytesize
      end
      line.empty? ? nil : line
    end

    # What was read beyond the line is read again: the last piece is always kept.
    def cut(line, size)
      @position -= line.bytesize - size
      line.byteslice(0, size)
    end
  end
end
