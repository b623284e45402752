# frozen_string_literal: true

# A cluster that the command line's --upstream makes, so that nobody writes Envoy's configuration for the common case.

require "ipaddr"
require "uri"

module Ruvoy
  # One upstream service at one URL: HTTP/1.1 over `http`, HTTP/2 or HTTP/1.1 by ALPN over `https`, with the service's
  # certificate checked against the system's authorities.
  class Cluster
    NAME = /\A[A-Za-z0-9_][A-Za-z0-9_.-]*\z/
    PORTS = { "http" => 80, "https" => 443 }.freeze

    # Where distributions keep the certificates of the authorities.
    AUTHORITIES = %w[
      /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt
      /etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem /etc/ssl/ca-bundle.pem /etc/ssl/cert.pem
    ].freeze

    # Envoy's type URLs.
    PROTOCOLS = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"
    TLS = "envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext"

    # The most bytes that Envoy reads from a connection at once, so that a fast upstream does not outrun the reader of a
    # stream in one go.
    BUFFER_BYTES = 262_144
    # Calls beyond Envoy's 1024 connections wait for one; the admission of requests is what bounds them.
    MAX_CALLS = 65_536
    private_constant :NAME, :PORTS, :AUTHORITIES, :PROTOCOLS, :TLS, :BUFFER_BYTES, :MAX_CALLS

    # @param argument [String] `NAME=URL`
    # @return [Cluster]
    # @raise [UsageError] if it is none
    def self.parse(argument)
      name, url = argument.split("=", 2)
      raise UsageError, "--upstream #{argument}: give NAME=URL" unless name&.match?(NAME) && url

      new(name, URI.parse(url))
    rescue URI::InvalidURIError
      raise UsageError, "--upstream #{argument}: #{url} is no URL"
    end

    # @return [String]
    attr_reader :name

    # @param name [String]
    # @param uri [URI::Generic]
    # @raise [UsageError] if it is not http or https, or has more than a host and a port
    def initialize(name, uri)
      @name = name
      @uri = uri
      raise UsageError, "--upstream #{name}: #{uri} is neither http nor https" unless PORTS.key?(uri.scheme)
      raise UsageError, "--upstream #{name}: #{uri} names no host" if uri.hostname.to_s.empty?
      return if ["", "/"].include?(uri.path) && [uri.query, uri.fragment, uri.userinfo].none?

      raise UsageError, "--upstream #{name}: #{uri} has more than a host and a port; calls have paths of their own"
    end

    # @return [String] what calls have for a scheme and a `host` field: the port is there if it is not the scheme's own
    def origin
      port = ":#{@uri.port}" unless @uri.port == PORTS.fetch(@uri.scheme)
      "#{@uri.scheme}://#{@uri.host}#{port}"
    end

    # @param environment [#[]] where `SSL_CERT_FILE` is looked up
    # @return [Hash{String => Object}] the cluster as Envoy's configuration has it
    # @raise [UsageError] if no certificates of authorities are found for https
    def to_h(environment = ENV)
      {
        "name" => name, "connect_timeout" => "5s", "per_connection_buffer_limit_bytes" => BUFFER_BYTES,
        **discovery,
        "circuit_breakers" => { "thresholds" => [thresholds] },
        "load_assignment" => { "cluster_name" => name, "endpoints" => [{ "lb_endpoints" => [endpoint] }] },
        **(@uri.scheme == "https" ? tls(environment["SSL_CERT_FILE"]) : {})
      }
    end

    private

    # A host with several addresses is tried at each, as browsers and curl do.
    def discovery
      address? ? { "type" => "STATIC" } : { "type" => "LOGICAL_DNS", "dns_lookup_family" => "ALL" }
    end

    def address?
      IPAddr.new(@uri.hostname)
      true
    rescue IPAddr::Error
      false
    end

    def thresholds = { "max_pending_requests" => MAX_CALLS, "max_requests" => MAX_CALLS }

    def endpoint
      address = { "address" => @uri.hostname, "port_value" => @uri.port }
      { "endpoint" => { "address" => { "socket_address" => address } } }
    end

    def tls(authorities)
      context = { "common_tls_context" => { "validation_context" => validation(authorities) } }
      context["sni"] = @uri.hostname unless address?
      either = { "http_protocol_options" => {}, "http2_protocol_options" => {} }
      {
        "transport_socket" => { "name" => "envoy.transport_sockets.tls", "typed_config" => typed(TLS, context) },
        "typed_extension_protocol_options" => { PROTOCOLS => typed(PROTOCOLS, "auto_config" => either) }
      }
    end

    def validation(authorities)
      file = [authorities, *AUTHORITIES].compact.find { |path| File.file?(path) }
      raise UsageError, "--upstream #{name}: no certificates of authorities; set SSL_CERT_FILE to theirs" if file.nil?

      san = { "san_type" => address? ? "IP_ADDRESS" : "DNS", "matcher" => { "exact" => @uri.hostname } }
      { "trusted_ca" => { "filename" => file }, "match_typed_subject_alt_names" => [san] }
    end

    def typed(type, settings) = { "@type" => "type.googleapis.com/#{type}", **settings }
  end
end
