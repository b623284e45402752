# frozen_string_literal: true

# A reactor that dies takes the process with it, loudly, and tells those who wait.

require "support/integration"

RSpec.describe "the death of the reactor" do
  it "is logged with its cause, answers requests with 503, and ends the process with a failure" do
    EnvoyProcess.start(rackup: "dying") do |server|
      waiting = %i[h1 h2].map { |version| Integration::EXCHANGES.fetch(version).new(server, "GET", "/sleep") }
      wait_until("Envoy has both") { server.active_requests == 2 }
      killing = HTTP1::Exchange.new(server, "GET", "/kill")
      expect(waiting.map(&:status)).to eq([503, 503])
      expect(killing.status).to eq(503)
      expect(waiting.first.head["x-ruvoy-error"]).to match(/\A[a-z_]+\z/)
      expect(server.wait_for_exit.exitstatus).to be_positive
      expect(server.log).to match(/NoMemoryError.*the reactor was killed|the reactor was killed.*NoMemoryError/)
    end
  end
end
