# frozen_string_literal: true

# `env["ruvoy.context"]`: what Envoy knows of a request beyond HTTP; owner thread only.

module Ruvoy
  # Everything was copied when the request's headers arrived; Ruby values are made when they are first read, and are
  # frozen. It can be read after the request has ended too.
  #
  # There is one only if the filter's configuration has the key `context`.
  class Context
    # @param native [Ruvoy::Native::Context] or what has its methods
    def initialize(native)
      @native = native
    end

    # @return [String, nil] the name of the route, nil if it has none
    def route_name
      return @route_name if defined?(@route_name)

      @route_name = @native.route_name
    end

    # @return [Hash{String => String, Integer}] the client's connection: `"id"`, `"source_address"`, `"source_port"`,
    #   `"destination_address"`, `"destination_port"` and `"protocol"`, such as `"HTTP/2"`
    def connection = @connection ||= @native.connection

    # Envoy knows the server's name only with the listener filter `envoy.filters.listener.tls_inspector`.
    # Of the alternative names in a certificate Envoy tells the first of each kind.
    # @return [Hash{String => Object}, nil] nil on plaintext, else `"version"`, `"server_name"` (nil if none is
    #   known), `"mtls"` and `"peer_certificate"`, which is nil if the client showed none, else a Hash of
    #   `"subject"`, `"uri_san"`, `"dns_san"` and `"sha256_digest"`
    def tls
      return @tls if defined?(@tls)

      @tls = @native.tls
    end

    # What filters ahead of Ruvoy set for this request, such as an authentication filter's findings.
    # @return [Hash{String => Hash{String => String, Float, Boolean, Array}}] by namespace, those of
    #   `context.metadata_namespaces` that have something
    def dynamic_metadata = @dynamic_metadata ||= @native.dynamic_metadata

    # What the route's configuration says.
    # @return [Hash{String => Hash{String => String, Float, Boolean, Array}}] as {#dynamic_metadata}
    def route_metadata = @route_metadata ||= @native.route_metadata

    # @return [Hash{String => Object}] all of it, by the names of the methods
    def to_h
      {
        "route_name" => route_name, "connection" => connection, "tls" => tls,
        "dynamic_metadata" => dynamic_metadata, "route_metadata" => route_metadata
      }
    end

    # @return [String] without the values
    def inspect = "#<#{self.class}>"
  end
end
