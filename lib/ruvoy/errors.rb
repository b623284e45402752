# frozen_string_literal: true

# The exceptions of Ruvoy's public surface, under one root that applications can rescue.

module Ruvoy
  # The root of every exception that Ruvoy raises on purpose.
  class Error < StandardError; end

  # The client left, or its stream was reset, while the application read from it or wrote to it.
  class ClientDisconnected < Error; end

  # The application answered with something that Rack's specification forbids.
  class ContractError < Error; end

  # A call through `env["ruvoy.upstream"]` could not be sent, or the request ended before its answer came.
  class UpstreamError < Error; end

  # The answer of an upstream was larger than `upstream.max_response_bytes`.
  class UpstreamResponseTooLarge < UpstreamError; end

  # The command line cannot go on; the message is one line that tells the user what to change.
  class UsageError < Error; end
end
