# frozen_string_literal: true

# A running Envoy takes a new configuration and keeps serving; one that it must refuse changes nothing.

require "support/integration"

RSpec.describe "a configuration reload" do
  before { @file = File.join(Dir.mktmpdir("listeners", ServerProcess::DIRECTORY), "listeners.json") }

  # Moves the listeners of the bootstrap to a file that Envoy watches.
  def watched
    lambda do |bootstrap|
      @listeners = bootstrap["static_resources"].delete("listeners")
      type = "type.googleapis.com/envoy.config.listener.v3.Listener"
      @listeners.each { |listener| listener["@type"] = type }
      bootstrap["dynamic_resources"] = { "lds_config" => { "path_config_source" => { "path" => @file } } }
      publish
    end
  end

  # Replaces the file in one step, which is what Envoy watches for.
  def publish
    File.write("#{@file}.new", JSON.generate("resources" => @listeners))
    File.rename("#{@file}.new", @file)
  end

  def publish_filter_config(server, config, statistic)
    bootstrap = { "static_resources" => { "listeners" => @listeners } }
    EnvoyProcess.filters(bootstrap).each { |filter| filter["filter_config"]["value"] = JSON.generate(config) }
    before = server.stats.fetch(statistic)
    publish
    wait_until("Envoy has looked at it") { server.stats.fetch(statistic) > before }
  end

  it "keeps requests in flight and serves new ones by the new configuration" do
    app = File.join(EnvoyProcess::APPS, "streaming.ru")
    EnvoyProcess.start(rackup: "streaming", configure: watched) do |server|
      echo = HTTP1::Exchange.new(server, "POST", "/echo", body: :stream)
      echo.write("before\n")
      expect(echo.read).to eq("got before\n")

      config = { rackup: app, limits: { request_body_bytes: 8 } }
      publish_filter_config(server, config, "listener_manager.lds.update_success")
      wait_until("the new limit holds") { curl(server, "/echo", "--data", "0123456789").status == 413 }
      expect(curl(server, "/echo", "--data", "0123").body).to eq("got 0123")

      echo.write("after the reload\n")
      expect(echo.read).to eq("got after the reload\n")
      echo.finish
      expect(echo.body).to eq("")
    end
  end

  it "is refused if it names another rackup, and nothing changes" do
    other = File.join(EnvoyProcess::APPS, "plain.ru")
    EnvoyProcess.start(rackup: "hello", configure: watched) do |server|
      publish_filter_config(server, { rackup: other }, "listener_manager.lds.update_rejected")
      expect(server.log).to include(other)
      expect(curl(server, "/").body).to start_with("hello")
    end
  end
end
