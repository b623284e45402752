# frozen_string_literal: true

# What is over limits.requests is refused at once, and those that were admitted finish.

require "support/integration"

RSpec.describe "admission" do
  serve "hold", concurrency: 2

  def hold(body) = exchange(:h1, "/", verb: "POST", body: body)

  it "refuses the 1,025th request in flight while the other 1,024 finish" do
    held = Array.new(1024) { hold(:stream) }
    expect(held.map(&:read)).to all(eq("held"))

    refused = Array.new(3) { get("/") } + [get("/", version: :h2)]
    expect(refused.map(&:status)).to all(eq(503))
    expect(refused.map { |answer| answer["retry-after"] }).to all(match(/\A\d+\z/))
    expect(refused.map { |answer| answer["x-ruvoy-error"] }).to all(match(/\A\S+\z/))
    expect(refused.first["content-type"]).to start_with("text/plain")

    held.each_with_index do |request, index|
      request.write(index.to_s)
      request.finish
    end
    expect(held.map(&:body)).to eq(Array.new(1024, &:to_s))
    expect(get("/").status).to eq(200)
  ensure
    held&.each(&:close)
  end

  it "takes its limit from the configuration, else from the environment" do
    environment = { "RUVOY_MAX_INFLIGHT_REQUESTS" => "2" }
    { 2 => {}, 1 => { "limits" => { "requests" => 1 } } }.each do |limit, filter|
      EnvoyProcess.start(rackup: "hold", filter: filter, environment: environment) do |server|
        held = Array.new(limit) { HTTP1::Exchange.new(server, "POST", "/", body: :stream) }
        expect(held.map(&:read)).to all(eq("held"))
        expect(curl(server, "/").status).to eq(503)
        held.each(&:close)
      end
    end
  end

  it "counts a request out on every path" do
    EnvoyProcess.start(rackup: "hold", filter: { "limits" => { "requests" => 2 } }) do |server|
      20.times do
        leaving = HTTP1::Exchange.new(server, "POST", "/", body: :stream)
        leaving.read
        leaving.cancel
        wait_until("its place is free") { server.active_requests.zero? }
      end
      wait_until("a place") { curl(server, "/").status == 200 }
    end
  end
end
