# frozen_string_literal: true

# --upstream NAME=URL → one of Envoy's clusters, as data; the integration specs call through it.

require "spec_helper"
require "ruvoy"

RSpec.describe Ruvoy::Cluster do
  def cluster(argument) = described_class.parse(argument)

  def address_of(argument)
    cluster(argument).to_h.dig("load_assignment", "endpoints", 0, "lb_endpoints", 0, "endpoint", "address",
                               "socket_address")
  end

  it "has the scheme's port unless the URL says another" do
    expect(address_of("a=http://a.test")).to eq("address" => "a.test", "port_value" => 80)
    expect(address_of("a=https://a.test/")).to eq("address" => "a.test", "port_value" => 443)
    expect(address_of("a=http://[::1]:81")).to eq("address" => "::1", "port_value" => 81)
  end

  it "has an origin, with the port where that is not the scheme's own" do
    expect(cluster("a=https://a.test:443/").origin).to eq("https://a.test")
    expect(cluster("a=http://a.test:443").origin).to eq("http://a.test:443")
    expect(cluster("a=http://[::1]:81").origin).to eq("http://[::1]:81")
  end

  it "resolves names, and takes addresses as they are" do
    expect(cluster("a=http://a.test").to_h).to include("type" => "LOGICAL_DNS", "dns_lookup_family" => "ALL")
    expect(cluster("a=http://127.0.0.1").to_h).to include("type" => "STATIC")
  end

  it "speaks plain HTTP/1.1 over http" do
    expect(cluster("a=http://a.test").to_h).not_to include("transport_socket", "typed_extension_protocol_options")
  end

  describe "over https" do
    let(:file) { __FILE__ }

    def https(url) = cluster("a=#{url}").to_h("SSL_CERT_FILE" => file)
    def context(url) = https(url).dig("transport_socket", "typed_config")

    it "checks the certificate of the named host" do
      validation = context("https://a.test").dig("common_tls_context", "validation_context")
      expect(context("https://a.test")["sni"]).to eq("a.test")
      expect(validation["trusted_ca"]).to eq("filename" => file)
      expect(validation["match_typed_subject_alt_names"])
        .to eq([{ "san_type" => "DNS", "matcher" => { "exact" => "a.test" } }])
    end

    it "checks the certificate of an address" do
      validation = context("https://192.0.2.1").dig("common_tls_context", "validation_context")
      expect(context("https://192.0.2.1")).not_to include("sni")
      expect(validation["match_typed_subject_alt_names"])
        .to eq([{ "san_type" => "IP_ADDRESS", "matcher" => { "exact" => "192.0.2.1" } }])
    end

    it "speaks HTTP/2 if the service does" do
      options = https("https://a.test").fetch("typed_extension_protocol_options").values.first
      expect(options["auto_config"]).to include("http2_protocol_options")
    end

    it "does not go without authorities" do
      allow(File).to receive(:file?).and_return(false)
      expect { cluster("a=https://a.test").to_h({}) }.to raise_error(Ruvoy::UsageError, /SSL_CERT_FILE/)
    end
  end

  {
    "a" => /NAME=URL/, "=http://a.test" => /NAME=URL/, "a b=http://a.test" => /NAME=URL/,
    "a=ftp://a.test" => /neither http nor https/, "a=a.test" => /neither http nor https/,
    "a=http://" => /no host|no URL/,
    "a=http://a.test/path" => /more than/, "a=http://a.test?q" => /more than/, "a=http://u@a.test" => /more than/,
    "a=http://a test" => /no URL/
  }.each do |argument, message|
    it "refuses #{argument}" do
      expect { cluster(argument) }.to raise_error(Ruvoy::UsageError, message)
    end
  end
end
