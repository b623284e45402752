# frozen_string_literal: true

# The `stream` that a streaming body is called with; owner thread only.

require "English"
require_relative "input"

module Ruvoy
  # Both directions of one request as Rack's specification wants them for a streaming body: like a socket, full duplex.
  # Any fiber may use it; writes of several fibers do not mix. Reading and writing may park the calling fiber.
  class Stream
    # @param input [Input, Input::Empty] what the client sends
    # @param output [Body::Output] what the client receives
    def initialize(input, output)
      @input = input.forget
      @output = output
      @lock = Thread::Mutex.new
      @error_before = $ERROR_INFO
      @read_closed = false
      @write_closed = false
    end

    # @param length [Integer, nil] in bytes; nil: everything up to the end
    # @param buffer [String, nil] takes the bytes instead of a new String
    # @return [String, nil] nil at the end if a length above 0 was given
    # @raise [IOError] after {#close_read}
    # @raise [ClientDisconnected] if the client left
    def read(length = nil, buffer = nil)
      check_readable
      @input.read(length, buffer)
    end

    # Reads what is there, at least a byte.
    # @param max [Integer] in bytes
    # @param buffer [String, nil] takes the bytes instead of a new String
    # @return [String]
    # @raise [EOFError] at the end
    # @raise [IOError] after {#close_read}
    # @raise [ClientDisconnected] if the client left
    def readpartial(max, buffer = nil)
      check_readable
      @input.readpartial(max, buffer)
    end

    # The same, but nil at the end.
    # @param max [Integer] in bytes
    # @param buffer [String, nil]
    # @return [String, nil]
    # @raise [IOError] after {#close_read}
    # @raise [ClientDisconnected] if the client left
    def read_partial(max = Input::CHUNK_BYTES, buffer = nil)
      check_readable
      @input.read_available(max, buffer)
    end

    # @return [String, nil] the next line, as {Input#gets}
    # @raise [IOError] after {#close_read}
    # @raise [ClientDisconnected] if the client left
    def gets(...)
      check_readable
      @input.gets(...)
    end

    # @param strings [Array<#to_s>] sent one after the other
    # @return [Integer] how many bytes that were
    # @raise [IOError] after {#close_write}
    # @raise [ContractError] if it is more than the content-length announced
    # @raise [ClientDisconnected] if the client left
    def write(*strings)
      @lock.synchronize do
        strings.sum do |string|
          raise IOError, "not opened for writing" if @write_closed

          @output.write(string.to_s)
        end
      end
    end

    # @param string [#to_s]
    # @return [self]
    # @raise [IOError, ContractError, ClientDisconnected] as {#write}
    def <<(string)
      write(string)
      self
    end

    # Nothing is held back, so there is nothing to do.
    # @return [self]
    def flush = self

    # Says that no more input is wanted. A fiber that waits for input is woken and gets an IOError.
    # @return [nil]
    def close_read
      @read_closed = true
      @input.close
    end

    # Ends the response. While an exception passes (in an `ensure`), the end waits for what becomes of it: a response
    # that was cut off by a failure must not look complete.
    # @return [nil]
    def close_write
      return if @write_closed

      @write_closed = true
      @output.finish unless failing?
      nil
    end

    # @return [nil]
    def close
      close_read
      close_write
    end

    # @return [Boolean] whether both directions are closed
    def closed? = @read_closed && @write_closed

    # @return [Boolean] whether the response was ended, or is about to
    def write_closed? = @write_closed

    private

    def check_readable
      raise IOError, "not opened for reading" if @read_closed
    end

    def failing?
      error = $ERROR_INFO
      !error.nil? && !error.equal?(@error_before)
    end
  end
end
