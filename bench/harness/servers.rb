# frozen_string_literal: true

# The servers that are compared: how each is started for a scenario, on a free port of loopback.

require "ruvoy"
require "support/envoy_process"
require "support/puma_process"
require_relative "certificate"
require_relative "falcon_process"

module Bench
  # A server under test: its processes, the one that clients talk to first.
  Running = Struct.new(:name, :processes) do
    def port = processes.first.port
    def pids = processes.map(&:pid)
    def wait_until_ready = processes.each(&:wait_until_ready)
    def stop = processes.each(&:stop)
  end

  # How to start each.
  module Servers
    TLS_TYPE = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext"
    ROUTER_TYPE = "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"

    # Several of one family are variants: after the warm-up the fastest of them goes on.
    Server = Struct.new(:name, :family, :label, :missing, :unfit, :start) do
      # @return [String, nil] why it takes no part in the scenario
      def absence(scenario) = missing || unfit&.call(scenario)

      # @return [Running] perhaps not ready yet
      def run(scenario) = Running.new(name, Array(start.call(scenario)))
    end

    module_function

    # @return [Array<Server>]
    def all
      @all ||= [
        Server.new("ruvoy", "ruvoy", "Ruvoy", nil, nil, ->(s) { ruvoy(s) }),
        Server.new("ruvoy-yjit", "ruvoy-yjit", "Ruvoy, YJIT", no_yjit, nil, lambda { |s|
          ruvoy(s, "RUBY_YJIT_ENABLE" => "1")
        }),
        Server.new("null", "null", "Envoy, answering inline", nil,
                   ->(s) { "it knows no Ruby" if s.body.nil? }, ->(s) { null(s) }),
        Server.new("falcon", "falcon", "Falcon", FalconProcess.missing, nil, ->(s) { FalconProcess.new(s) }),
        *pumas
      ]
    end

    def pumas
      ["5:5", "1:100"].flat_map do |threads|
        [Server.new("puma-#{threads}", "puma", "Puma #{threads}", nil,
                    ->(s) { "it speaks no HTTP/2" if s.http2 }, ->(s) { puma(s, threads) }),
         Server.new("envoy-puma-#{threads}", "envoy-puma", "Envoy → Puma #{threads}", nil, nil,
                    ->(s) { envoy_puma(s, threads) })]
      end
    end

    def no_yjit = defined?(RubyVM::YJIT) ? nil : "this Ruby was built without YJIT"

    def ruvoy(scenario, environment = {})
      EnvoyProcess.new(rackup: scenario.rackup, environment:, configure: ->(bootstrap) { secure(scenario, bootstrap) })
    end

    def null(scenario)
      EnvoyProcess.new(rackup: scenario.rackup, configure: lambda { |bootstrap|
        EnvoyProcess.filters(bootstrap).each do |filter|
          filter["filter_name"] = "ruvoy_null"
          filter["filter_config"]["value"] = scenario.body
        end
        bootstrap.delete("bootstrap_extensions")
        secure(scenario, bootstrap)
      })
    end

    def puma(scenario, threads)
      bind = "ssl://127.0.0.1:0?key=#{Certificate.key}&cert=#{Certificate.path}" if scenario.tls
      PumaProcess.new(**{ rackup: scenario.rackup, threads:, bind: }.compact)
    end

    def envoy_puma(scenario, threads)
      puma = PumaProcess.new(rackup: scenario.rackup, threads:)
      puma.wait_until_ready
      envoy = EnvoyProcess.new(rackup: scenario.rackup, configure: lambda { |bootstrap|
        bootstrap.delete("bootstrap_extensions")
        proxy(bootstrap, puma.port)
        secure(scenario, bootstrap)
      })
      [envoy, puma]
    end

    def managers(bootstrap)
      bootstrap.dig("static_resources", "listeners").flat_map { |listener| listener["filter_chains"] }
               .map { |chain| chain.dig("filters", 0, "typed_config") }
    end

    # In place of the module: Envoy's router with one upstream.
    def proxy(bootstrap, port)
      managers(bootstrap).each do |manager|
        manager["http_filters"] = [{ "name" => "router", "typed_config" => { "@type" => ROUTER_TYPE } }]
        route = manager.dig("route_config", "virtual_hosts", 0, "routes", 0)
        route.delete("non_forwarding_action")
        route["route"] = { "cluster" => "puma", "timeout" => "0s" }
      end
      address = { "socket_address" => { "address" => "127.0.0.1", "port_value" => port } }
      endpoint = { "endpoint" => { "address" => address } }
      bootstrap["static_resources"]["clusters"] = [{
        "name" => "puma", "connect_timeout" => "5s", "circuit_breakers" => { "thresholds" => [circuit_breaker] },
        "load_assignment" => { "cluster_name" => "puma", "endpoints" => [{ "lb_endpoints" => [endpoint] }] }
      }]
    end

    # As many requests at once as the scenarios have, so that none is refused.
    def circuit_breaker = { "max_connections" => 1024, "max_pending_requests" => 4096, "max_requests" => 4096 }

    def secure(scenario, bootstrap)
      return unless scenario.tls

      pair = { "certificate_chain" => { "filename" => Certificate.path },
               "private_key" => { "filename" => Certificate.key } }
      context = { "alpn_protocols" => ["h2", "http/1.1"], "tls_certificates" => [pair],
                  "tls_params" => { "tls_minimum_protocol_version" => "TLSv1_3" } }
      bootstrap.dig("static_resources", "listeners").flat_map { |listener| listener["filter_chains"] }.each do |chain|
        chain["transport_socket"] = { "name" => "tls", "typed_config" => { "@type" => TLS_TYPE,
                                                                           "common_tls_context" => context } }
      end
    end
  end
end
