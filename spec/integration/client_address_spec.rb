# frozen_string_literal: true

# Who the client is: the peer, unless --trusted-hops says how many proxies in front are believed.

require "support/integration"

RSpec.describe "the client's address" do
  # The option as the command line passes it on.
  def with_hops(hops, &)
    configure = lambda do |bootstrap|
      manager = bootstrap.dig("static_resources", "listeners", 0, "filter_chains", 0, "filters", 0, "typed_config")
      options = Ruvoy::CLI::Options.new(rackup: "/a", address: "127.0.0.1", port: 0, concurrency: 1, trusted_hops: hops)
      trusting = Ruvoy::Bootstrap.new(options, "/m").to_h
      manager.merge!(trusting.dig("static_resources", "listeners", 0, "filter_chains", 0, "filters", 0, "typed_config")
                             .slice("use_remote_address", "skip_xff_append", "xff_num_trusted_hops",
                                    "preserve_external_request_id"))
    end
    EnvoyProcess.start(rackup: "protocol", configure: configure, &)
  end

  forwarded = ["--header", "x-forwarded-for: 192.0.2.1, 192.0.2.2", "--header", "x-forwarded-proto: https",
               "--header", "x-request-id: 01234567-89ab-4def-8123-456789abcdef"]

  it "is the peer's by default, and nothing that a client says changes it" do
    with_hops(0) do |server|
      expect(curl(server, "/address", *forwarded).body).to eq("127.0.0.1 http 80")
      expect(curl(server, "/id", *forwarded).body).to match(/\A(?!01234567)\h{8}-\h{4}-/)
      expect(curl(server, "/address", "--header", "x_forwarded_for: 192.0.2.1").status).to eq(400)
    end
  end

  it "is what the trusted proxies say, counted from the last" do
    { 1 => "192.0.2.2", 2 => "192.0.2.1" }.each do |hops, address|
      with_hops(hops) do |server|
        expect(curl(server, "/address", *forwarded).body).to eq("#{address} https 443")
        expect(curl(server, "/id", *forwarded).body).to eq("01234567-89ab-4def-8123-456789abcdef")
        expect(curl(server, "/address").body).to eq("127.0.0.1 http 80")
      end
    end
  end
end
