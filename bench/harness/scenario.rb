# frozen_string_literal: true

# What is measured: an application and the load on it.

module Bench
  DIRECTORY = File.expand_path("..", __dir__)
  RESULTS = File.join(DIRECTORY, "results")

  # One scenario; each file of bench/scenarios defines one.
  #
  # - name, title [String]
  # - app [String] a rackup of bench/apps
  # - http2 [Boolean] over HTTP/2 (prior knowledge), else HTTP/1.1
  # - connections [Integer]; streams [Integer] requests at once on each, for HTTP/2
  # - headers [Hash{String => String}] of each request
  # - upload_bytes [Integer] a POST with so many bytes; 0: a GET
  # - body [String, nil] what is answered, where an Envoy without Ruby can answer it too
  # - path [String] with its query
  # - tls [Boolean] TLS 1.3
  # - note [String, nil] what a reader of the results must know
  Scenario = Struct.new(:name, :title, :app, :http2, :connections, :streams, :headers, :upload_bytes, :body, :path,
                        :tls, :note) do
    @all = []

    # @param name [String]
    # @param title [String]
    # @param settings [Hash] the rest, where it is not the default
    def self.define(name, title, **settings)
      @all << build(name:, title:, **settings)
    end

    # @return [Scenario] with defaults for what is not given
    def self.build(**settings)
      defaults = { app: "hello", http2: false, connections: 100, streams: 1, headers: {}, upload_bytes: 0, path: "/",
                   tls: false }
      new(*members.map { |member| { **defaults, **settings }[member] })
    end

    # @return [Array<Scenario>] in the order in which they run
    def self.all
      Dir[File.join(DIRECTORY, "scenarios/*.rb")].each { |path| require path } if @all.empty?
      @all
    end

    def rackup = File.join(DIRECTORY, "apps/#{app}.ru")
    def scheme = tls ? "https" : "http"
  end
end
