# frozen_string_literal: true

# `env["ruvoy.context"]` on plaintext, TLS and mutual TLS, with metadata of filters ahead and of the route.

require "support/certificates"
require "support/integration"

RSpec.describe "the context" do
  def context(*arguments, version: :h1)
    answer = get("/context", *arguments, version: version)
    expect(answer.ok?).to be(true), answer.message
    JSON.parse(answer.body)
  end

  class << self
    # @param change [Proc] may change the listener
    def serve_context(context, &change)
      configure = ->(bootstrap) { change&.call(bootstrap.dig("static_resources", "listeners", 0)) }
      serve "upstream", filter: { "context" => context }, configure: configure
    end

    def manager(listener) = listener.dig("filter_chains", 0, "filters", 0, "typed_config")
    def route(listener) = manager(listener).dig("route_config", "virtual_hosts", 0, "routes", 0)
  end

  it "is not there unless it is configured" do
    text = 'run ->(env) { [200, {}, [env.key?("ruvoy.context"), env.key?("ruvoy.upstream")].map(&:to_s)] }'
    EnvoyProcess.start(rackup: rackup(text)) { |server| expect(curl(server, "/").body).to eq("falsefalse") }
  end

  describe "on plaintext" do
    serve_context({}) { |listener| route(listener)["name"] = "the route" if listener }

    %i[h1 h2].each do |version|
      it "has the route and the connection over #{version}" do
        seen = context(version: version)
        expect(seen).to include("route_name" => "the route", "tls" => nil, "dynamic_metadata" => {},
                                "route_metadata" => {})
        expect(seen["connection"]).to match(
          "id" => be_positive, "source_address" => "127.0.0.1", "source_port" => be_between(1, 65_535),
          "destination_address" => "127.0.0.1", "destination_port" => server.port,
          "protocol" => { h1: "HTTP/1.1", h2: "HTTP/2" }.fetch(version)
        )
      end
    end

    it "tells connections apart" do
      expect(context["connection"]["id"]).not_to eq(context["connection"]["id"])
    end
  end

  describe "without a route's name" do
    serve_context({})

    it { expect(context["route_name"]).to be_nil }
  end

  describe "with metadata" do
    serve_context({ "metadata_namespaces" => %w[headers constant nobody] }) do |listener|
      route(listener)["metadata"] = { "filter_metadata" => {
        # Envoy reads a fraction in YAML as a String.
        "constant" => { "text" => "\u00e9", "number" => 7, "truth" => true, "list" => ["a", 2, false], "none" => nil },
        "hidden" => { "secret" => "x" }
      } }
      manager(listener)["http_filters"].unshift(
        { "name" => "lua", "typed_config" => {
          "@type" => "type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua",
          "default_source_code" => { "inline_string" => <<~LUA }
            function envoy_on_request(request)
              local metadata = request:streamInfo():dynamicMetadata()
              metadata:set("headers", "user", request:headers():get("x-user"))
              metadata:set("headers", "level", 3)
              metadata:set("headers", "admin", false)
              metadata:set("hidden", "secret", "x")
            end
          LUA
        } }
      )
    end

    it "has what the route says, and no namespace that was not asked for" do
      expect(context["route_metadata"])
        .to eq("constant" => { "text" => "\u00e9", "number" => 7.0, "truth" => true, "list" => ["a", 2.0, false] })
    end

    it "asks Envoy for a value's kind no more than it must, since each wrong guess is an error in the log" do
      context("--header", "x-user: alice")
      expect { 3.times { context("--header", "x-user: alice") } }
        .not_to(change { server.log.scan(/\[error\].*key (?!none)\w+ is not a/).size })
    end

    it "has what filters ahead found out, request by request" do
      %w[alice bob].each do |user|
        expect(context("--header", "x-user: #{user}")["dynamic_metadata"])
          .to eq("headers" => { "user" => user, "level" => 3.0, "admin" => false })
      end
    end
  end

  describe "with TLS" do
    attr_reader :certificates, :server

    before(:context) do
      @certificates = Certificates.new(Dir.mktmpdir("tls", ServerProcess::DIRECTORY))
      @own = @certificates.issue("server", "DNS:example.test")
    end

    # @param validation [Hash] of the client's certificate
    def start(validation = {})
      common = { "tls_certificates" => [{ "certificate_chain" => { "filename" => @own[:certificate] },
                                          "private_key" => { "filename" => @own[:key] } }],
                 "alpn_protocols" => %w[h2 http/1.1], **validation }
      context = { "@type" => "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext",
                  "common_tls_context" => common }
      configure = lambda do |bootstrap|
        listener = bootstrap.dig("static_resources", "listeners", 0)
        listener.dig("filter_chains", 0)["transport_socket"] =
          { "name" => "envoy.transport_sockets.tls", "typed_config" => context }
        listener["listener_filters"] = [inspector]
      end
      EnvoyProcess.start(rackup: "upstream", filter: { "context" => {} }, configure: configure) do |server|
        yield server
      end
    end

    # What tells Envoy the name that a client asks for.
    def inspector
      { "name" => "envoy.filters.listener.tls_inspector", "typed_config" => {
        "@type" => "type.googleapis.com/envoy.extensions.filters.listener.tls_inspector.v3.TlsInspector"
      } }
    end

    def tls_of(server, *arguments)
      command = ["curl", "--silent", "--show-error", "--noproxy", "*", "--cacert", certificates.authority, *arguments,
                 "--connect-to", "example.test:443:127.0.0.1:#{server.port}", "https://example.test/context"]
      output, status = Open3.capture2e(*command)
      expect(status).to be_success, output
      JSON.parse(output).fetch("tls")
    end

    it "tells version and name" do
      start do |server|
        expect(tls_of(server)).to eq("version" => "TLSv1.3", "server_name" => "example.test", "mtls" => false,
                                     "peer_certificate" => nil)
        expect(tls_of(server, "--tls-max", "1.2")["version"]).to eq("TLSv1.2")
      end
    end

    it "tells whose certificate the client showed" do
      client = certificates.issue("client", "DNS:client.test,DNS:second.test,URI:spiffe://test/client")
      start("validation_context" => { "trusted_ca" => { "filename" => certificates.authority } }) do |server|
        expect(tls_of(server, "--cert", client[:certificate], "--key", client[:key])).to include(
          "mtls" => true, "peer_certificate" => { "subject" => "CN=client", "uri_san" => "spiffe://test/client",
                                                  "dns_san" => "client.test", "sha256_digest" => client[:digest] }
        )
        expect(tls_of(server)).to include("mtls" => false, "peer_certificate" => nil)
      end
    end
  end
end
