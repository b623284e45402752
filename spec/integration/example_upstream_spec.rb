# frozen_string_literal: true

# The examples that call services run, and their calls overlap where they say so: the services tell.

require "support/upstreams"

RSpec.describe "the examples" do
  examples = File.expand_path("../../examples", __dir__)

  # A service that answers whatever it is asked when its gate is open.
  gated = Class.new(StandIn) do
    private

    def nothing(connection, request, _)
      wait_for { @open }
      send_whole(connection, "from #{request.path}")
    end
  end

  attr_reader :server

  before { @service = gated.new }
  after { @service.stop }

  # @param cluster [String] the name that the example knows the service by
  def run_example(rackup, cluster, url: @service.url, context: nil)
    definition = Ruvoy::Cluster.parse("#{cluster}=#{url}")
    filter = { "upstream" => { "clusters" => [cluster], "origins" => { cluster => definition.origin } } }
    filter["context"] = context if context
    configure = ->(bootstrap) { bootstrap["static_resources"]["clusters"] = [definition.to_h] }
    EnvoyProcess.start(rackup: rackup, filter: filter, configure: configure,
                       environment: { "SERVICES" => url }) do |server|
      @server = server
      yield
    end
  end

  describe "extensions" do
    it "shows the context and two calls that overlap" do
      run_example("#{examples}/extensions/config.ru", "service", context: {}) do
        request = exchange(:h1, "/")
        wait_until("both calls are in hand") { @service.in_hand == 2 }
        @service.open_gate
        page = JSON.parse(request.body)
        expect(page["answers"]).to eq("forecast" => [200, "from /forecast"], "tides" => [200, "from /tides"])
        expect(page["context"]["connection"]).to include("source_address" => "127.0.0.1")
      end
    end

    it "has a service of its own" do
      EnvoyProcess.start(rackup: "#{examples}/extensions/service.ru") do |service|
        run_example("#{examples}/extensions/config.ru", "service", url: "http://127.0.0.1:#{service.port}",
                                                                   context: {}) do
          expect(get("/").body).to include("tides: calm")
        end
      end
    end
  end

  describe "aggregator" do
    it "calls one service after another where it says so" do
      @service.open_gate
      run_example("#{examples}/aggregator/config.ru", "services") do
        expect(JSON.parse(get("/one-after-another").body).keys).to eq(%w[/profile /orders /offers])
        expect([@service.requests.size, @service.most_at_once]).to eq([3, 1])
      end
    end

    %w[/upstream /offload].each do |way|
      it "calls all services at once for #{way}" do
        run_example("#{examples}/aggregator/config.ru", "services") do
          request = exchange(:h1, way)
          wait_until("all three are in hand") { @service.in_hand == 3 }
          @service.open_gate
          expect(JSON.parse(request.body)).to include("/orders" => "from /orders", "/offers" => "from /offers")
        end
      end
    end

    it "has services of its own" do
      EnvoyProcess.start(rackup: "#{examples}/aggregator/services.ru") do |services|
        run_example("#{examples}/aggregator/config.ru", "services", url: "http://127.0.0.1:#{services.port}") do
          %w[/one-after-another /upstream /offload].each do |way|
            expect(JSON.parse(get(way).body)).to eq("/profile" => "the profile", "/orders" => "the orders",
                                                    "/offers" => "the offers")
          end
        end
      end
    end
  end
end
