# frozen_string_literal: true

# A client that leaves ends its own fiber at once: ensure blocks run, the body is closed once, nothing stays counted.

require "support/integration"

RSpec.describe "a client that leaves" do
  serve "cancel"

  before { @before = server.probe }

  # @return [Hash] how the probe's counts changed
  def change
    counts = server.probe.except("inflight", "threads", "fibers")
    counts.to_h { |key, value| [key, value - @before[key]] }.reject { |_, by| by.zero? }
  end

  # Waits until the probe is alone and returns what changed.
  def change_at_rest
    wait_until("only the probe is in flight") { server.probe["inflight"] == 1 }
    change
  end

  def wait_until_started = wait_until("the application has the request") { change["started"] }

  %i[h1 h2].each do |version|
    context "over #{version}" do
      it "is noticed while the application sleeps" do
        request = exchange(version, "/sleep")
        wait_until_started
        request.cancel
        expect(change_at_rest).to eq("started" => 1, "ensured" => 1)
      end

      it "is noticed while a child task of the request sleeps" do
        request = exchange(version, "/child")
        wait_until("both sleep") { change["started"] == 2 }
        request.cancel
        expect(change_at_rest).to eq("started" => 2, "ensured" => 2)
      end

      it "is noticed while the body sleeps before its first chunk" do
        request = exchange(version, "/sleep-in-body")
        wait_until_started
        request.cancel
        expect(change_at_rest).to eq("started" => 1, "ensured" => 1, "closed" => 1)
      end

      it "is noticed while the body sleeps after a chunk" do
        request = exchange(version, "/sleep-after-chunk")
        expect(request.read).to eq("first")
        request.cancel
        expect(change_at_rest).to eq("started" => 1, "ensured" => 1, "closed" => 1)
      end

      it "is noticed while the application reads" do
        request = exchange(version, "/read", verb: "POST", body: :stream)
        request.write("half")
        wait_until_started
        request.cancel
        expect(change_at_rest).to eq("started" => 1, "ensured" => 1)
      end

      it "is noticed while the body reads" do
        request = exchange(version, "/read-in-body", verb: "POST", body: :stream)
        request.write("half")
        wait_until_started
        request.cancel
        expect(change_at_rest).to eq("started" => 1, "ensured" => 1, "closed" => 1)
      end

      it "is noticed while the body writes" do
        request = exchange(version, "/write")
        4.times { expect(request.read).to start_with("x") }
        request.cancel
        expect(change_at_rest).to eq("started" => 1, "ensured" => 1, "closed" => 1)
      end

      it "is noticed while a streaming body writes" do
        request = exchange(version, "/write-stream")
        4.times { expect(request.read).to start_with("x") }
        request.cancel
        expect(change_at_rest).to eq("started" => 1, "ensured" => 1)
      end
    end
  end
end
