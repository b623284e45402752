# frozen_string_literal: true

# A real Envoy with Ruvoy's module, configured as the CLI does it, on free ports that Envoy itself takes.

require "json"
require "net/http"
require "ruvoy"
require_relative "server_process"

class EnvoyProcess < ServerProcess
  ROOT = File.expand_path("../..", __dir__)
  APPS = File.join(ROOT, "spec/apps")

  # @param rackup [String] a path, or the name of an application in spec/apps
  # @param options [Hash] :concurrency (1); :filter, keys to add to the filter configuration; :filter_config, the whole
  #   of it as a String; :environment; :envoy, a binary; :configure, a proc that may change the bootstrap Hash
  def initialize(rackup: "hello", **options)
    super()
    @rackup = rackup.include?("/") ? rackup : File.join(APPS, "#{rackup}.ru")
    @options = { concurrency: 1, filter: {}, environment: {}, **options }
    start
  end

  # @return [Integer] the port of the listener; a connection may be made to it before the worker runs
  def wait_until_ready
    wait_for_boot("Envoy names its admin port") { File.size?(admin_path) }
    @admin_port = File.read(admin_path)[/:(\d+)\z/, 1].to_i
    @port = wait_for_boot("Envoy names the listener's port") { listener_port }
  end

  # @return [Hash{String => Integer}] Envoy's counters and gauges
  def stats
    JSON.parse(admin("/stats?format=json")).fetch("stats").each_with_object({}) do |stat, all|
      all[stat["name"]] = stat["value"] if stat["name"]
    end
  end

  # @return [Integer] requests that Envoy's connection manager has in hand
  def active_requests = stats.fetch("http.ruvoy.downstream_rq_active")

  def admin(path) = Net::HTTP.get("127.0.0.1", path, @admin_port)

  # What the application of probe.rb counted.
  def probe
    answer = Curl.curl(self, "/probe")
    raise "no answer of the probe: #{answer.status}" unless answer.status == 200

    Hash.new(0).merge(JSON.parse(answer.body))
  end

  class << self
    # Starts one that must refuse to run.
    # @return [EnvoyProcess] ended
    def refuse(**)
      server = new(**)
      server.wait_for_exit(90)
      server
    ensure
      server&.stop
    end

    # The module's HTTP filters in a bootstrap.
    def filters(bootstrap)
      bootstrap.dig("static_resources", "listeners").flat_map do |listener|
        manager = listener.dig("filter_chains", 0, "filters", 0, "typed_config")
        manager["http_filters"].map { |filter| filter["typed_config"] }
      end
    end

    def binary = @binary ||= Ruvoy::Launcher.find_envoy
    def module_path = @module_path ||= Ruvoy::Launcher.find_module
  end

  private

  def admin_path = File.join(directory, "admin")

  def start
    binary = @options.fetch(:envoy) { self.class.binary }
    configuration = JSON.generate(bootstrap)
    spawn_server(environment, binary, "--config-yaml", configuration, "--concurrency", @options[:concurrency].to_s,
                 "--disable-hot-restart", "--log-level", "warning", "--component-log-level", "dynamic_modules:info",
                 "--admin-address-path", admin_path)
  end

  def environment = Ruvoy::Launcher.environment.merge(@options[:environment])

  def bootstrap
    options = Ruvoy::CLI::Options.new(rackup: @rackup, concurrency: @options[:concurrency], address: "127.0.0.1",
                                      port: 0, admin_port: 0, trusted_hops: 0)
    bootstrap = Ruvoy::Bootstrap.new(options, self.class.module_path).to_h
    self.class.filters(bootstrap).each { |filter| filter["filter_config"]["value"] = filter_config }
    @options[:configure]&.call(bootstrap)
    bootstrap
  end

  def filter_config
    @options.fetch(:filter_config) { JSON.generate({ "rackup" => @rackup }.merge(@options[:filter])) }
  end

  def listener_port
    listeners = JSON.parse(admin("/listeners?format=json"))["listener_statuses"].to_a
    listeners.first&.dig("local_address", "socket_address", "port_value")
  rescue Errno::ECONNREFUSED, JSON::ParserError
    nil
  end
end
