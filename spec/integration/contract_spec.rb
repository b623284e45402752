# frozen_string_literal: true

# An application that breaks Rack's contract gets one clear 500, and nothing of it reaches the client.

require "support/integration"

RSpec.describe "a broken contract" do
  serve "contract"

  %w[nil two-elements status-99 status-word header-crlf header-name no-body body-of-numbers].each do |breach|
    it "is answered with 500: #{breach}" do
      answer = get("/#{breach}")
      expect([answer.exit_status, answer.status]).to eq([0, 500])
      expect(answer["x-ruvoy-error"]).to match(/\A[a-z-]+\z/)
      expect(answer["x-evil"]).to be_nil
      expect(get("/hello").body).to eq("hello")
    end
  end

  %i[h1 h2].each do |version|
    it "is an error to the client over #{version}: a body shorter than its content-length" do
      answer = get("/short", version: version)
      expect([answer.exit_status, answer.body]).to match([be_positive, "12345"])
    end

    it "never sends more than the content-length over #{version}" do
      answer = get("/long", version: version)
      expect("1234512345").to start_with(answer.body)
      expect(get("/hello", version: version).body).to eq("hello")
    end
  end
end
