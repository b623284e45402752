# frozen_string_literal: true

# What an integration spec needs: servers shared by a group, HTTP clients, and the server's log on failure.

require "spec_helper"
require "support/curl"
require "support/envoy_process"
require "support/http1"
require "support/http2"
require "support/puma_process"
require "support/waiting"

module Integration
  EXCHANGES = { h1: HTTP1::Exchange, h2: HTTP2::Exchange }.freeze

  # One request and its answer over either version, piece by piece; see HTTP1::Exchange.
  def exchange(version, path, verb: "GET", **) = EXCHANGES.fetch(version).new(server, verb, path, **)

  def get(path, *, **) = curl(server, path, *, **)

  # @return [String] the path of a rackup with this text
  def rackup(text)
    directory = Dir.mktmpdir("rackup", ServerProcess::DIRECTORY)
    File.join(directory, "config.ru").tap { |path| File.write(path, text) }
  end

  # Declares the Envoy that all examples of a group share as `server`.
  module Group
    def serve(rackup, **options)
      before(:context) { @server = EnvoyProcess.start(rackup: rackup, **options) }
      after(:context) { @server&.stop }
      attr_reader :server
    end
  end
end

RSpec.configure do |config|
  config.include(Integration)
  config.include(Curl)
  config.include(Waiting)
  config.extend(Integration::Group)

  config.before { ServerProcess::RECENT.clear }
  config.after do |example|
    servers = example.exception ? (ServerProcess::LIVE | ServerProcess::RECENT).grep(EnvoyProcess) : []
    servers.each { |server| config.reporter.message(server.log_tail) }
  end

  config.after(:suite) do
    ServerProcess.stop_all
    failed = RSpec.world.all_examples.any? { |example| example.execution_result.status == :failed }
    failed ? warn("logs are kept in #{ServerProcess::DIRECTORY}") : FileUtils.remove_entry(ServerProcess::DIRECTORY)
  end
end
