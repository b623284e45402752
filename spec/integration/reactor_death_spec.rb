# frozen_string_literal: true

# A reactor that dies takes the process with it, loudly, and tells those who wait.

require "support/integration"

RSpec.describe "the reactor" do
  it "says so when it dies: in the log, by 503 to all requests, by the exit status", :aggregate_failures do
    EnvoyProcess.start(rackup: "dying") do |server|
      waiting = [HTTP1, HTTP2].map { |client| client::Exchange.new(server, "GET", "/sleep") }
      wait_until("Envoy has both") { server.active_requests == 2 }
      ruining = HTTP1::Exchange.new(server, "GET", "/ruin")
      expect([*waiting, ruining].map(&:status)).to eq([503, 503, 503])
      expect(waiting.map { |request| request.head["x-ruvoy-error"] }).to all(match(/\A[a-z-]+\z/))
      expect(server.wait_for_exit.exitstatus).to be_positive
      expect(server.log).to match(/\[critical\].*the reactor died/)
    end
  end

  it "survives an exception that another thread throws at it" do
    EnvoyProcess.start(rackup: "dying") do |server|
      bystander = HTTP1::Exchange.new(server, "GET", "/sleep")
      expect(curl(server, "/strike").status).to be_between(200, 500)
      wait_until("the log has it") { server.log.include?("struck") }
      expect(curl(server, "/strike").status).to be_between(200, 500)
      expect(server.active_requests).to eq(1)
      bystander.close
    end
  end
end
