# frozen_string_literal: true

# An application that blocks the owner thread delays others but loses none.

require "support/integration"

RSpec.describe "an application that blocks" do
  serve "cancel", concurrency: 2

  it "delays other requests and then all are answered" do
    path = File.join(server.directory, "pipe")
    File.mkfifo(path)
    blocking = exchange(:h1, "/block")
    waiting = File.open(path, "w") do |pipe|
      requests = Array.new(50) { |number| exchange(number.even? ? :h1 : :h2, "/mark") }
      wait_until("Envoy has them all") { server.active_requests == 51 }
      pipe.write("free")
      requests
    end
    expect(blocking.body).to eq("free")
    expect(waiting.map(&:body)).to all(eq("marked"))
  end
end
