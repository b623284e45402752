# frozen_string_literal: true

# An application may answer before its request's body has come: the client gets the answer whole.

require "support/integration"

RSpec.describe "an early answer" do
  serve "early"

  let(:upload) { File.join(server.directory, "upload").tap { |path| File.binwrite(path, "x" * 10_000_000) } }

  { "/unread" => "not read", "/partly" => "read 10", "/closed" => "closed" }.each do |path, body|
    %i[h1 h2].each do |version|
      it "reaches a client that is sending, over #{version}: #{path}" do
        answer = get(path, "--upload-file", upload, version: version)
        expect([answer.exit_status, answer.status, answer.body]).to eq([0, 200, body])
      end

      it "reaches a client that has sent only half, over #{version}: #{path}" do
        request = exchange(version, path, verb: "POST", body: :stream)
        request.write("half a body")
        expect([request.status, request.body]).to eq([200, body])
        request.close
        wait_until("Envoy has nothing in hand") { server.active_requests.zero? }
      end
    end
  end
end
