# frozen_string_literal: true

# A body that fails after its headers are out is an error to the client, never a short body that looks complete.

require "support/integration"

RSpec.describe "a body that fails midway" do
  serve "failing"

  # curl's own words for a message that was cut off.
  errors = { h1: [18, 52, 56], h2: [92] }

  errors.each do |version, codes|
    %w[error no-memory exit throw interrupt deep-recursion-through-c stopped-task].each do |failure|
      it "is an error to curl over #{version}: #{failure}" do
        answer = get("/body/#{failure}", version: version)
        expect(codes).to include(answer.exit_status), "curl ended with #{answer.exit_status}: #{answer.message}"
        expect([answer.status, answer.body]).to eq([200, "some of it"])
        expect(get("/hello", version: version).body).to eq("hello")
      end
    end

    it "delivers what was written before over #{version}" do
      request = exchange(version, "/body/error")
      expect(request.read).to eq("some of it")
      expect { request.read }.to raise_error(HTTP1::Broken)
    end
  end
end
