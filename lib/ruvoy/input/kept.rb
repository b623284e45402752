# frozen_string_literal: true

# What was read of a request's body, for rewinding.

require "tempfile"

module Ruvoy
  class Input
    # The bytes that were read, in memory while they are few, else in an unlinked temporary file.
    class Kept
      # The most bytes held in memory.
      MEMORY_BYTES = 131_072

      # @return [Integer] how many bytes are kept
      attr_reader :bytesize

      def initialize
        @bytesize = 0
        @memory = nil
        @file = nil
      end

      # @param chunk [String] appended
      # @return [void]
      def <<(chunk)
        spill if @file.nil? && @bytesize + chunk.bytesize > MEMORY_BYTES
        @file ? append(chunk) : (@memory ||= String.new(encoding: Encoding::BINARY)) << chunk
        @bytesize += chunk.bytesize
      end

      # @param position [Integer] below {#bytesize}
      # @param max [Integer] in bytes
      # @return [String]
      def read(position, max)
        return @memory.byteslice(position, max) if @file.nil?

        @file.pread([max, @bytesize - position].min, position)
      end

      # @return [void]
      def clear
        close
        @bytesize = 0
      end

      # @return [void]
      def close
        @file&.close
        @file = @memory = nil
      end

      private

      def spill
        @file = Tempfile.create("ruvoy-body", binmode: true)
        File.unlink(@file.path)
        append(@memory, 0) if @memory
        @memory = nil
      end

      def append(chunk, offset = @bytesize)
        written = @file.pwrite(chunk, offset)
        append(chunk.byteslice(written..), offset + written) if written < chunk.bytesize
      end
    end
  end
end
