# frozen_string_literal: true

# Server-sent events: a stream may be quiet for as long as it likes, and a client that leaves meanwhile is noticed.

require "support/integration"

RSpec.describe "server-sent events" do
  # Whatever could end a quiet stream is off or far away in the configuration; with a limit on idle connections, which
  # must not count a connection with a quiet stream as idle, minutes become parts of a second.
  serve "protocol", configure: lambda { |bootstrap|
    manager = bootstrap.dig("static_resources", "listeners", 0, "filter_chains", 0, "filters", 0, "typed_config")
    raise "a quiet stream may be ended" if manager["stream_idle_timeout"] != "0s" || manager.key?("request_timeout")

    manager["common_http_protocol_options"]["idle_timeout"] = "0.3s"
    manager["request_headers_timeout"] = "0.3s"
  }

  def started = server.probe.values_at("started", "ensured")

  %i[h1 h2].each do |version|
    it "stay open while they are quiet, and go on over #{version}" do
      events = exchange(version, "/events")
      expect(events.read).to eq("data: first\n\n")
      expect(events.readable?(1)).to be(false)
      get("/event")
      expect(events.body).to eq("data: go\n\n")
    end

    it "end when the client leaves, while the application waits, over #{version}" do
      before = started
      events = exchange(version, "/events")
      expect(events.read).to eq("data: first\n\n")
      expect(events.readable?(0.5)).to be(false)
      events.cancel
      wait_until("the stream's ensure has run") { started == before.map { |count| count + 1 } }
    end
  end
end
