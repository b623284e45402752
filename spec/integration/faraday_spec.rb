# frozen_string_literal: true

# The Faraday adapter, with the Faraday that is installed, from inside a real Envoy.

require "support/upstreams"

RSpec.describe "the Faraday adapter" do
  serve_upstreams(rackup: "faraday")

  def seen(path) = JSON.parse(get(path).body, symbolize_names: true)
  def echo(path) = JSON.parse(seen(path)[:body], symbolize_names: true)

  it "sends path, query and headers to the cluster that the host names" do
    expect(echo("/get")[:fields]).to include(%w[host service], %w[x-own 1], ["user-agent", match(/Faraday/)])
    expect(service.requests.last.path).to eq("/echo?a=b+c")
  end

  it "sends bodies: Strings with their length, files piece by piece" do
    expect(echo("/post")).to include(verb: "POST", size: 5)
    expect(service.requests.last["content-length"]).to eq("5")
    file = File.binread(File.join(EnvoyProcess::APPS, "faraday.ru"))
    expect(echo("/file")).to include(verb: "PUT", digest: Digest::SHA256.hexdigest(file))
  end

  it "joins repeated headers" do
    expect(seen("/cookies")).to include(status: 200, body: "two", headers: include("set-cookie": "a=1, b=2"))
  end

  it "overlaps with the other calls of its request" do
    request = exchange(:h1, "/together")
    wait_until("all three are at the gate") { service.in_hand == 3 }
    service.open_gate
    expect(JSON.parse(request.body)).to eq(%w[passed passed passed])
  end

  it "streams to on_data" do
    expect(seen("/stream")).to include(bytes: 200_000, last: [be_positive, 200_000, 200])
  end

  it "takes a timeout, which is Envoy's 504" do
    expect(seen("/timeout")).to include(status: 504)
  end

  it "fails as Faraday's callers expect" do
    expect(seen("/errors")).to match([["Faraday::ConnectionFailed", /no healthy host/],
                                      ["ArgumentError", /\Acluster: "nowhere"/]])
    expect(seen("/outside")).to match(/no request is being served/)
  end

  it "takes the upstream of an env" do
    expect(seen("/explicit")).to include(status: 200, body: "")
  end
end
