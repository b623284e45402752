# frozen_string_literal: true

# Options → Envoy's configuration, as data; the integration specs show that a real Envoy takes it.

require "spec_helper"
require "ruvoy"
require "yaml"

RSpec.describe Ruvoy::Bootstrap do
  subject(:bootstrap) { described_class.new(options, "/gem/libruvoy_fiber.so") }

  let(:changes) { {} }
  let(:options) do
    Ruvoy::CLI::Options.new(rackup: "/app/config.ru", address: "127.0.0.1", port: 8080, concurrency: 1, trusted_hops: 0,
                            **changes)
  end
  let(:listener) { bootstrap.to_h.dig("static_resources", "listeners", 0) }
  let(:connection_manager) { listener.dig("filter_chains", 0, "filters", 0, "typed_config") }
  let(:filter) { connection_manager.dig("http_filters", 0, "typed_config") }
  let(:socket_address) { listener.dig("address", "socket_address") }

  it "listens where it is told to" do
    expect(socket_address).to eq("address" => "127.0.0.1", "port_value" => 8080)
  end

  it "has the module as its only and last filter" do
    expect(connection_manager["http_filters"].size).to eq(1)
    expect(filter).to include("filter_name" => "ruvoy", "terminal_filter" => true)
    expect(filter["dynamic_module_config"]).to eq(
      "module" => { "local" => { "filename" => "/gem/libruvoy_fiber.so" } },
      "do_not_close" => true, "load_globally" => true, "metrics_namespace" => "ruvoy"
    )
  end

  it "gives the filter the rackup" do
    expect(filter["filter_config"]).to eq("@type" => "type.googleapis.com/google.protobuf.StringValue",
                                          "value" => '{"rackup":"/app/config.ru"}')
  end

  it "takes the client's address from the connection" do
    expect(connection_manager).to include("use_remote_address" => true, "skip_xff_append" => true,
                                          "xff_num_trusted_hops" => 0, "preserve_external_request_id" => false)
  end

  it "bounds slow headers but neither quiet streams nor long uploads" do
    expect(connection_manager).to include("request_headers_timeout" => "30s", "stream_idle_timeout" => "0s")
    expect(connection_manager).not_to include("request_timeout", "delayed_close_timeout")
  end

  it "rejects underscores and resolves dot segments alone" do
    expect(connection_manager.dig("common_http_protocol_options", "headers_with_underscores_action"))
      .to eq("REJECT_REQUEST")
    expect(connection_manager).to include("normalize_path" => true, "merge_slashes" => false,
                                          "path_with_escaped_slashes_action" => "KEEP_UNCHANGED")
  end

  it "knows no other upgrade than WebSocket" do
    pattern = connection_manager.dig("http_protocol_options", "ignore_http_11_upgrade", 0, "safe_regex", "regex")
    ignored = %w[h2c webs websockets walrus w HTTP/2.0 TLS/1.0]
    expect(ignored).to all(match(/\A(?:#{pattern})\z/))
    expect(%w[websocket WebSocket WEBSOCKET]).to all(satisfy { |name| !name.match?(/\A(?:#{pattern})\z/) })
  end

  it "takes malformed messages as RFC 9112 and RFC 9113 have it" do
    expect(bootstrap.to_h.dig("layered_runtime", "layers", 0, "static_layer"))
      .to eq("envoy.reloadable_features.strict_chunk_parsing" => true)
    expect(connection_manager["http2_protocol_options"])
      .to include("override_stream_error_on_invalid_http_message" => true)
  end

  it "leaves 100 (Continue) to the module, and OPTIONS * to Envoy" do
    expect(connection_manager["proxy_100_continue"]).to be(true)
    expect(connection_manager.dig("local_reply_config", "mappers", 0)).to include("status_code" => 200)
  end

  it "offers WebSocket on both versions of HTTP" do
    expect(connection_manager["upgrade_configs"]).to eq([{ "upgrade_type" => "websocket" }])
    expect(connection_manager.dig("http2_protocol_options", "allow_connect")).to be(true)
  end

  it "loads the same module for the server as a whole" do
    expect(bootstrap.to_h["bootstrap_extensions"].map { |extension| extension["typed_config"] })
      .to match([include("extension_name" => "ruvoy", "dynamic_module_config" => filter["dynamic_module_config"])])
  end

  it "has no admin interface unless it is asked for" do
    expect(bootstrap.to_h).not_to include("admin")
  end

  it "does not share its port" do
    expect(listener["enable_reuse_port"]).to be(false)
  end

  it "is the same as JSON, on one line, and as YAML, without aliases" do
    expect(bootstrap.to_json).not_to include("\n")
    expect(JSON.parse(bootstrap.to_json)).to eq(bootstrap.to_h)
    expect(YAML.safe_load(bootstrap.to_yaml)).to eq(bootstrap.to_h)
  end

  context "with an admin port and a public address" do
    let(:changes) { { address: "0.0.0.0", admin_port: 9901 } }

    it "keeps the admin interface on loopback" do
      expect(bootstrap.to_h["admin"])
        .to eq("address" => { "socket_address" => { "address" => "127.0.0.1", "port_value" => 9901 } })
    end
  end

  context "with IPv6's wildcard" do
    let(:changes) { { address: "::" } }

    it "takes IPv4 as well, as a Ruby server does" do
      expect(socket_address).to include("address" => "::", "ipv4_compat" => true)
    end
  end

  context "with several workers" do
    let(:changes) { { concurrency: 2 } }

    it "gives each its own socket" do
      expect(listener["enable_reuse_port"]).to be(true)
    end
  end

  context "with trusted hops" do
    let(:changes) { { trusted_hops: 2 } }

    it "believes as many entries of X-Forwarded-For, and the request's id" do
      expect(connection_manager).to include("xff_num_trusted_hops" => 2, "preserve_external_request_id" => true)
    end
  end

  context "with a rackup outside ASCII" do
    let(:changes) { { rackup: "/app/\u00e9 \"q\"\n.ru".dup.force_encoding(Encoding::US_ASCII) } }

    it "passes its bytes on" do
      value = YAML.safe_load(bootstrap.to_yaml).to_s.then { filter.dig("filter_config", "value") }
      expect(JSON.parse(value)).to eq("rackup" => "/app/\u00e9 \"q\"\n.ru")
    end
  end

  context "with a rackup whose name is not UTF-8" do
    let(:changes) { { rackup: "/app/\xff.ru" } }

    it "says so" do
      expect { bootstrap.to_json }.to raise_error(Ruvoy::UsageError, /UTF-8/)
      expect { bootstrap.to_yaml }.to raise_error(Ruvoy::UsageError, /UTF-8/)
    end
  end
end
