# frozen_string_literal: true

# rack.response_finished: callbacks run in reverse, once, whatever became of the response and of the other callbacks.

require "support/integration"

RSpec.describe "rack.response_finished" do
  serve "finished"

  # What the callbacks of one request saw.
  def seen
    @seen = []
    wait_until("the callbacks ran") { (@seen += JSON.parse(get("/seen").body)).size >= 2 }
    @seen + JSON.parse(get("/seen").body)
  end

  def errors = seen.map { |call| call.values_at(0, 1, 3) }

  %i[h1 h2].each do |version|
    context "over #{version}" do
      it "is told of a complete response" do
        get("/ok", version: version)
        expect(seen).to eq([["/ok", 3, 200, nil], ["/ok", 1, 200, nil]])
      end

      it "is told of a streamed response" do
        get("/streamed", version: version)
        expect(seen).to eq([["/streamed", 3, 201, nil], ["/streamed", 1, 201, nil]])
      end

      it "is told of an application that raised" do
        expect(get("/error", version: version).status).to eq(500)
        expect(errors).to eq([["/error", 3, "IOError"], ["/error", 1, "IOError"]])
      end

      it "is told of a body that raised" do
        get("/broken", version: version)
        expect(errors).to eq([["/broken", 3, "IOError"], ["/broken", 1, "IOError"]])
      end

      %w[/endless /sleep].each do |path|
        it "is told of a client that left during #{path}" do
          before = server.probe["registered"]
          request = exchange(version, path)
          wait_until("the application has it") { server.probe["registered"] > before }
          request.cancel
          expect(seen.map { |call| call.first(2) }).to eq([[path, 3], [path, 1]])
        end
      end
    end
  end

  it "logs a callback that fails" do
    get("/ok")
    seen
    expect(server.log).to include("a callback fails")
  end
end
