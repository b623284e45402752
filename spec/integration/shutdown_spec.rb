# frozen_string_literal: true

# The end of the process: requests in flight may finish, what does not finish in limits.shutdown_timeout_ms unwinds.

require "support/integration"

RSpec.describe "shutdown" do
  def mark?(server, name) = File.exist?(File.join(server.directory, name))

  def start(timeout_ms, &)
    EnvoyProcess.start(rackup: "shutdown", filter: { "limits" => { "shutdown_timeout_ms" => timeout_ms } }, &)
  end

  def terminate_during(path)
    start(300) do |server|
      request = HTTP1::Exchange.new(server, "GET", path)
      wait_until("the application has the request") { mark?(server, "started") }
      server.signal(:TERM)
      expect(server.wait_for_exit.exitstatus).to eq(0)
      request.close
      yield server
    end
  end

  # The timeout is longer than this waits for the end.
  %i[h1 h2].each do |version|
    it "lets a request in flight over #{version} finish, and then ends at once" do
      start(600_000) do |server|
        request = Integration::EXCHANGES.fetch(version).new(server, "POST", "/read", body: :stream)
        wait_until("the application has the request") { mark?(server, "started") }
        server.signal(:TERM)
        wait_until("Envoy has seen the signal") { server.log.include?("SIGTERM") }
        request.write("to the end")
        request.finish
        expect([request.status, request.body]).to eq([200, "read to the end"])
        expect(server.wait_for_exit.exitstatus).to eq(0)
      end
    end
  end

  it "runs the ensure blocks of requests in flight" do
    terminate_during("/sleep") { |server| expect(mark?(server, "ensured")).to be(true) }
  end

  it "runs at_exit blocks" do
    terminate_during("/sleep") { |server| expect(mark?(server, "at_exit")).to be(true) }
  end

  it "does not wait for an application that blocks for ever" do
    terminate_during("/stubborn") do |server|
      expect(server.log).not_to match(/Segmentation|Caught/)
    end
  end
end
