# frozen_string_literal: true

# Turns the options of the command line into the configuration that Envoy starts from.

require "json"

module Ruvoy
  # Envoy's bootstrap: one listener whose only HTTP filter is Ruvoy's module, safe to put at the edge.
  class Bootstrap
    # Envoy's type URLs, by the name used here.
    TYPES = {
      bootstrap_extension: "envoy.extensions.bootstrap.dynamic_modules.v3.DynamicModuleBootstrapExtension",
      connection_limit: "envoy.extensions.resource_monitors.downstream_connections.v3.DownstreamConnectionsConfig",
      connection_manager: "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
      filter: "envoy.extensions.filters.http.dynamic_modules.v3.DynamicModuleFilter",
      string: "google.protobuf.StringValue"
    }.transform_values { |type| "type.googleapis.com/#{type}".freeze }.freeze
    private_constant :TYPES

    # The bytes that Envoy holds for a connection in each direction before it stops reading; also HTTP/2's window
    # for a stream, so that one slow application holds as much whatever its client speaks.
    BUFFER_BYTES = 1_048_576

    # HTTP/2's window for a connection: 16 stalled uploads before they hold up the others on their connection.
    CONNECTION_WINDOW_BYTES = 16 * BUFFER_BYTES

    # The connections that Envoy has at once, many of them idle; more are closed as they come, which leaves file
    # descriptors to the application.
    MAX_CONNECTIONS = 10_000

    # Envoy lets bytes between a chunk's data and its line end pass, unless told otherwise.
    RUNTIME = { "envoy.reloadable_features.strict_chunk_parsing" => true }.freeze

    # `OPTIONS *` asks the server and wants no more than an answer (RFC 9110, 9.3.7); Envoy alone would say 404.
    OPTIONS_OF_SERVER = {
      "filter" => { "and_filter" => { "filters" => { ":method" => "OPTIONS", ":path" => "*" }.map do |name, value|
        { "header_filter" => { "header" => { "name" => name, "string_match" => { "exact" => value } } } }
      end } },
      "status_code" => 200
    }.freeze

    # Every protocol but WebSocket, for expressions that cannot say "not": what departs from it in some letter.
    OTHER_PROTOCOLS = "websocket".each_char.with_index.map do |letter, index|
      before = "websocket"[0...index].gsub(/./) { |same| "[#{same}#{same.upcase}]" }
      "#{before}([^#{letter}#{letter.upcase}].*)?"
    end.push("[wW][eE][bB][sS][oO][cC][kK][eE][tT].+").join("|").freeze

    # @param options [Options] what the command line asked for
    # @param module_path [String] the absolute path of `libruvoy_fiber.so`
    def initialize(options, module_path)
      @options = options
      @module_path = module_path
    end

    # @return [Hash{String => Object}] the bootstrap as plain data, with string keys
    def to_h
      {
        "node" => { "id" => "ruvoy", "cluster" => "ruvoy" },
        "admin" => admin,
        "bootstrap_extensions" => bootstrap_extensions,
        "layered_runtime" => { "layers" => [{ "name" => "ruvoy", "static_layer" => RUNTIME }] },
        "overload_manager" => { "resource_monitors" => [connection_limit] },
        "static_resources" => { "listeners" => [listener], **clusters }
      }.compact
    end

    # @return [String] the bootstrap as one line of JSON, which Envoy reads as YAML
    # @raise [UsageError] if a path in it is not UTF-8
    def to_json(*)
      JSON.generate(to_h)
    rescue JSON::GeneratorError, EncodingError
      raise UsageError, "the paths of the rackup and of the module must be UTF-8"
    end

    # @return [String] the bootstrap as YAML for people to read and to copy from
    # @raise [UsageError] if a path in it is not UTF-8
    def to_yaml
      require "yaml"
      YAML.dump(JSON.parse(to_json), line_width: -1)
    end

    private

    def admin
      { "address" => socket_address("127.0.0.1", @options.admin_port) } if @options.admin_port
    end

    # The same module once more, for the server as a whole: requests in flight finish at SIGTERM, and gauges are kept.
    def bootstrap_extensions
      [extension("envoy.bootstrap.dynamic_modules", :bootstrap_extension,
                 "dynamic_module_config" => dynamic_module, "extension_name" => "ruvoy")]
    end

    def clusters
      upstreams.empty? ? {} : { "clusters" => upstreams.each_value.map(&:to_h) }
    end

    def upstreams = @options.upstreams || {}

    def connection_limit
      extension("envoy.resource_monitors.global_downstream_max_connections", :connection_limit,
                "max_active_downstream_connections" => MAX_CONNECTIONS)
    end

    def listener
      {
        "name" => "ruvoy",
        "address" => socket_address(@options.address, @options.port),
        # Two servers that both set SO_REUSEPORT share a port in silence; one worker has no use for it.
        "enable_reuse_port" => @options.concurrency > 1,
        "per_connection_buffer_limit_bytes" => BUFFER_BYTES,
        # A client that vanished without a word is noticed although nothing is sent to it.
        "tcp_keepalive" => { "keepalive_time" => 60, "keepalive_interval" => 15, "keepalive_probes" => 4 },
        "filter_chains" => [{ "filters" => [extension("envoy.filters.network.http_connection_manager",
                                                      :connection_manager, connection_manager)] }]
      }
    end

    def connection_manager
      {
        "stat_prefix" => "ruvoy", "codec_type" => "AUTO",
        **client_address, **paths, **timeouts, **protocols,
        # The application's own Server field, or none.
        "server_header_transformation" => "PASS_THROUGH",
        "max_request_headers_kb" => 64,
        # 100 (Continue) is sent when the application reads, so that it can refuse a body before it is sent.
        "proxy_100_continue" => true,
        "upgrade_configs" => [{ "upgrade_type" => "websocket" }],
        "local_reply_config" => { "mappers" => [OPTIONS_OF_SERVER] },
        "route_config" => route_config,
        "http_filters" => [extension("ruvoy", :filter, filter)]
      }
    end

    # X-Forwarded-For decides nothing unless the user says how many proxies stand in front.
    def client_address
      {
        "use_remote_address" => true, "skip_xff_append" => true,
        "xff_num_trusted_hops" => @options.trusted_hops,
        # Only a trusted proxy may name a request.
        "preserve_external_request_id" => @options.trusted_hops.positive?
      }
    end

    # Dot segments are resolved, so that no rule on a prefix is bypassed; `//` and `%2F` mean what the application
    # says they mean.
    def paths
      { "normalize_path" => true, "merge_slashes" => false, "path_with_escaped_slashes_action" => "KEEP_UNCHANGED" }
    end

    # Only what a well-behaved client never needs is bounded: a stream may be quiet, and an upload may last, as long as
    # both sides want.
    def timeouts
      { "request_headers_timeout" => "30s", "stream_idle_timeout" => "0s" }
    end

    def protocols
      {
        "common_http_protocol_options" => { "headers_with_underscores_action" => "REJECT_REQUEST" },
        "http_protocol_options" => {
          "accept_http_10" => true, "default_host_for_http_10" => "localhost", "enable_trailers" => true,
          # An upgrade that is not on offer is ignored, as RFC 9110 (7.8) has it; Envoy alone would answer 403.
          "ignore_http_11_upgrade" => [{ "safe_regex" => { "regex" => OTHER_PROTOCOLS } }]
        },
        "http2_protocol_options" => {
          "allow_connect" => true, "max_concurrent_streams" => 256,
          # A malformed request costs its stream, not its connection (RFC 9113, 8.1.1).
          "override_stream_error_on_invalid_http_message" => true,
          "initial_stream_window_size" => BUFFER_BYTES, "initial_connection_window_size" => CONNECTION_WINDOW_BYTES,
          "connection_keepalive" => { "interval" => "60s", "timeout" => "20s" }
        }
      }
    end

    def route_config
      { "virtual_hosts" => [{ "name" => "ruvoy", "domains" => ["*"], "routes" => [
        { "match" => { "prefix" => "/" }, "non_forwarding_action" => {} }
      ] }] }
    end

    def filter
      {
        "dynamic_module_config" => dynamic_module, "filter_name" => "ruvoy", "terminal_filter" => true,
        "filter_config" => typed(:string, "value" => filter_config)
      }
    end

    # A file name has whatever encoding the locale claims; its bytes are what counts.
    def filter_config
      JSON.generate("rackup" => @options.rackup.dup.force_encoding(Encoding::UTF_8), **extensions)
    end

    def extensions
      {
        "context" => @options.context && { "metadata_namespaces" => @options.context },
        "upstream" => upstreams.any? && { "clusters" => upstreams.keys,
                                          "origins" => upstreams.transform_values(&:origin) }
      }.select { |_, settings| settings }
    end

    def dynamic_module
      {
        "module" => { "local" => { "filename" => @module_path } },
        # A VM cannot be started twice in a process, and C extensions look for libruby among the global symbols.
        "do_not_close" => true, "load_globally" => true,
        "metrics_namespace" => "ruvoy"
      }
    end

    def socket_address(address, port)
      { "socket_address" => { "address" => address, "port_value" => port,
                              **(address == "::" ? { "ipv4_compat" => true } : {}) } }
    end

    def extension(name, type, settings)
      { "name" => name, "typed_config" => typed(type, settings) }
    end

    def typed(type, settings)
      { "@type" => TYPES.fetch(type), **settings }
    end
  end
end
