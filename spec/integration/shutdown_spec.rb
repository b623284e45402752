# frozen_string_literal: true

# The end of the process: requests in flight unwind, and nothing holds it up for longer than limits.shutdown_timeout_ms.

require "support/integration"

RSpec.describe "shutdown" do
  def mark?(server, name) = File.exist?(File.join(server.directory, name))

  def terminate_during(path, **)
    EnvoyProcess.start(rackup: "shutdown", **) do |server|
      request = HTTP1::Exchange.new(server, "GET", path)
      wait_until("the application has the request") { mark?(server, "started") }
      server.signal(:TERM)
      expect(server.wait_for_exit.exitstatus).to eq(0)
      request.close
      yield server
    end
  end

  it "runs the ensure blocks of requests in flight" do
    terminate_during("/sleep") { |server| expect(mark?(server, "ensured")).to be(true) }
  end

  it "runs at_exit blocks" do
    terminate_during("/sleep") { |server| expect(mark?(server, "at_exit")).to be(true) }
  end

  it "does not wait for an application that blocks for ever" do
    terminate_during("/stubborn", filter: { "limits" => { "shutdown_timeout_ms" => 200 } }) do |server|
      expect(server.log).not_to match(/Segmentation|Caught/)
    end
  end
end
