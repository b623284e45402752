# frozen_string_literal: true

# --upstream over TLS: certificates are checked, HTTP/2 is spoken where the service does, client certificates are shown.

require "support/certificates"
require "support/upstreams"

RSpec.describe "an upstream over TLS" do
  before(:context) { @certificates = Certificates.new(Dir.mktmpdir("tls", ServerProcess::DIRECTORY)) }
  attr_reader :certificates, :server

  # A service that speaks HTTP/1.1 alone.
  def with_service(certificate, **tls)
    context = OpenSSL::SSL::SSLContext.new
    context.add_certificate(OpenSSL::X509::Certificate.new(File.read(certificate[:certificate])),
                            OpenSSL::PKey.read(File.read(certificate[:key])))
    context.set_params(verify_mode: OpenSSL::SSL::VERIFY_NONE, **tls)
    service = StandIn.new(tls: context)
    yield service
  ensure
    service&.stop
  end

  # @param change [Proc, nil] may change the cluster
  def with_server(port, change = nil)
    cluster = Ruvoy::Cluster.parse("service=https://localhost:#{port}")
    definition = cluster.to_h("SSL_CERT_FILE" => certificates.authority)
    change&.call(definition)
    configure = ->(bootstrap) { bootstrap["static_resources"]["clusters"] = [definition] }
    upstream = { "clusters" => ["service"], "origins" => { "service" => cluster.origin } }
    EnvoyProcess.start(rackup: "upstream", filter: { "upstream" => upstream }, configure: configure) do |server|
      @server = server
      yield
    end
  end

  it "is called with the URL's host if its certificate is the named host's" do
    with_service(certificates.issue("good", "DNS:localhost")) do |service|
      with_server(service.port) do
        expect(echoed[:fields]).to include(["host", "localhost:#{service.port}"])
      end
    end
  end

  it "is not called if its certificate is another host's, or another authority's" do
    others = Certificates.new(Dir.mktmpdir("tls", ServerProcess::DIRECTORY))
    [certificates.issue("other", "DNS:other.test"), others.issue("good", "DNS:localhost")].each do |certificate|
      with_service(certificate) do |service|
        with_server(service.port) do
          expect(outcome("/call")[:status]).to eq(503)
          expect(server.stats.values_at(*%w[san error].map { |kind| "cluster.service.ssl.fail_verify_#{kind}" }).sum)
            .to be_positive
        end
        expect(service.requests).to be_empty
      end
    end
  end

  it "sees the client certificate that the cluster is configured with" do
    own = certificates.issue("client", "DNS:client.test")
    demand = { verify_mode: OpenSSL::SSL::VERIFY_PEER | OpenSSL::SSL::VERIFY_FAIL_IF_NO_PEER_CERT,
               ca_file: certificates.authority }
    show = lambda do |cluster|
      files = { "certificate_chain" => { "filename" => own[:certificate] },
                "private_key" => { "filename" => own[:key] } }
      cluster.dig("transport_socket", "typed_config", "common_tls_context")["tls_certificates"] = [files]
    end
    with_service(certificates.issue("strict", "DNS:localhost"), **demand) do |service|
      with_server(service.port, show) { expect(outcome("/call")[:status]).to eq(200) }
      with_server(service.port) { expect(outcome("/call")[:status]).to eq(503) }
    end
  end

  it "speaks HTTP/2 to a service that does" do
    text = 'run ->(env) { [200, {}, [env.values_at("SERVER_PROTOCOL", "HTTP_HOST", "rack.url_scheme").join(" ")]] }'
    EnvoyProcess.start(rackup: rackup(text), configure: tls_listener) do |service|
      with_server(service.port) do
        expect(outcome("/call")[:body]).to eq("HTTP/2 localhost:#{service.port} https")
      end
    end
  end

  def tls_listener
    own = certificates.issue("service", "DNS:localhost")
    lambda do |bootstrap|
      files = { "certificate_chain" => { "filename" => own[:certificate] },
                "private_key" => { "filename" => own[:key] } }
      bootstrap.dig("static_resources", "listeners", 0, "filter_chains", 0)["transport_socket"] = {
        "name" => "envoy.transport_sockets.tls",
        "typed_config" => {
          "@type" => "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext",
          "common_tls_context" => { "tls_certificates" => [files], "alpn_protocols" => %w[h2 http/1.1] }
        }
      }
    end
  end
end
