# frozen_string_literal: true

# The one module runs on each supported Envoy.

require "support/integration"
require "support/envoys"

RSpec.describe "Envoy" do
  skip(Envoys.missing) if Envoys.all.empty?

  Envoys.all.each do |version, path|
    context version do
      serve "streaming", envoy: path

      %i[h1 h2].each do |protocol|
        it "serves, streams and cancels over #{protocol}" do
          upload = exchange(protocol, "/upload", verb: "POST", body: :stream)
          upload.write("first\n")
          expect(get("/seen", version: protocol).body).to eq("first\n")
          upload.finish
          expect(upload.body).to eq(Digest::SHA256.hexdigest("first\n"))

          leaving = exchange(protocol, "/gated")
          expect(leaving.read).to eq("first\n")
          leaving.cancel
          wait_until("Envoy has nothing in hand") { server.active_requests.zero? }
          expect(exchange(protocol, "/echo", verb: "POST", body: "a\nb\n").body).to eq("got a\ngot b\n")
        end
      end

      it "ends with status 0" do
        EnvoyProcess.start(envoy: path) do |server|
          curl(server, "/")
          expect(server.stop.exitstatus).to eq(0)
        end
      end
    end
  end
end
