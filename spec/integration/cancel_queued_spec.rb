# frozen_string_literal: true

# A client that leaves while its request is queued never reaches the application.

require "support/integration"

RSpec.describe "a client that leaves while its request is queued" do
  serve "cancel"

  before(:context) { File.mkfifo(File.join(server.directory, "pipe")) }

  # Holds the owner thread for the length of the block.
  def blocked
    holder = exchange(:h1, "/block")
    # Opening waits for the application to open the other end.
    File.open(File.join(server.directory, "pipe"), "w") do |pipe|
      yield
      pipe.write("free")
    end
    expect(holder.body).to eq("free")
  end

  %i[h1 h2].each do |version|
    it "is forgotten over #{version}" do
      marked = server.probe["marked"]
      blocked do
        leaving, @staying = Array.new(2) { exchange(version, "/mark") }
        wait_until("Envoy has all three") { server.active_requests == 3 }
        leaving.cancel
        wait_until("Envoy noticed") { server.active_requests == 2 }
      end
      expect(@staying.body).to eq("marked")
      expect(server.probe).to include("marked" => marked + 1, "inflight" => 1)
    end
  end
end
