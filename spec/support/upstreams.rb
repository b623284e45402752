# frozen_string_literal: true

# An Envoy whose application calls upstream services: a stand-in, and clusters that fail in every way.

require "support/integration"
require "support/stand_in"
require "uri"

module Upstreams
  # Declares `server` and its `service` for a group.
  module Group
    # @param filter [Hash] keys of the `upstream` part of the filter's configuration
    # @param change [Proc] may change the bootstrap once the clusters are in it; gets the group's instance too
    def serve_upstreams(filter: {}, **options, &change)
      before(:context) do
        @service = StandIn.new
        @server = EnvoyProcess.start(**Upstreams.options(@service, filter, change), **options)
      end
      after(:context) do
        @server&.stop
        @service&.stop
      end
      before { service.reset }
      attr_reader :server, :service
    end
  end

  class << self
    def options(service, filter, change)
      clusters = clusters(service)
      names = [*clusters.map { |cluster| cluster["name"] }, "unknown"]
      configure = lambda do |bootstrap|
        bootstrap["static_resources"]["clusters"] = clusters
        change&.call(bootstrap)
      end
      { rackup: "upstream", filter: { "upstream" => { "clusters" => names, **filter } }, configure: configure }
    end

    def clusters(service)
      [
        cluster("service", service.port),
        cluster("refused", unused_port),
        cluster("breaker", service.port, "circuit_breakers" => { "thresholds" => [{ "max_requests" => 0 }] }),
        cluster("empty", service.port).tap { |empty| empty["load_assignment"].delete("endpoints") }
      ]
    end

    def cluster(name, port, more = {})
      Ruvoy::Cluster.parse("#{name}=http://127.0.0.1:#{port}").to_h.merge(more)
    end

    # A port that nobody listens on.
    def unused_port
      TCPServer.open("127.0.0.1", 0) { |server| server.local_address.ip_port }
    end
  end

  # The path at which the application does as it is told.
  def plan(path, **plan)
    plan = { cluster: "service", method: "GET", path: "/echo", **plan }
    "#{path}?#{URI.encode_www_form_component(JSON.generate(plan))}"
  end

  # @return [Object] what came of it
  def outcome(path, *, **)
    answer = get(plan(path, **), *)
    raise "#{answer.status} #{answer.body}" unless answer.status == 200

    JSON.parse(answer.body, symbolize_names: true)
  end

  # A call of the stand-in's /echo and what that saw.
  def echoed(path = "/call", *, **)
    answer = outcome(path, *, **)
    raise answer.to_s if answer[:error]

    JSON.parse(answer[:body], symbolize_names: true)
  end
end

RSpec.configure do |config|
  config.include(Upstreams)
  config.extend(Upstreams::Group)
end
