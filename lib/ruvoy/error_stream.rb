# frozen_string_literal: true

# `rack.errors`: Envoy's standard error, shared by all requests.

module Ruvoy
  # Writes to what `$stderr` is at that moment, and cannot be closed.
  class ErrorStream
    # @param values [Array<Object>] a line each
    # @return [nil]
    def puts(*values) = $stderr.puts(*values) # rubocop:disable Style/StderrPuts -- warn can be silenced

    # @param strings [Array<#to_s>]
    # @return [Integer] the number of bytes
    def write(*strings) = $stderr.write(*strings)

    # @param string [#to_s]
    # @return [self]
    def <<(string)
      write(string)
      self
    end

    # @return [self]
    def flush
      $stderr.flush
      self
    end

    # Does nothing, as Rack forbids to close it; Ruby's Logger writes to nothing that has no such method.
    # @return [nil]
    def close = nil
  end
end
