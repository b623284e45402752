# frozen_string_literal: true

# limits.request_body_bytes: more is refused with 413, at once if the length says so.

require "support/integration"

RSpec.describe "limits.request_body_bytes" do
  serve "plain", filter: { "limits" => { "request_body_bytes" => 1000 } }

  %i[h1 h2].each do |version|
    it "lets the limit itself pass over #{version}" do
      [{}, { headers: { "expect" => "100-continue" } }].each do |options|
        answer = exchange(version, "/raw", verb: "PUT", body: "x" * 1000, **options)
        expect(answer.body).to eq(Digest::SHA256.hexdigest("x" * 1000))
      end
    end

    it "refuses a length over it before the body comes over #{version}" do
      # Only the head, with the body still to come.
      body = { h2: :stream }[version]
      answer = exchange(version, "/raw", verb: "PUT", body: body, headers: { "content-length" => "1001" })
      expect([answer.status, answer.head["x-ruvoy-error"]]).to eq([413, "body-too-large"])
    end

    it "refuses a body without a length once it is over it over #{version}" do
      upload = exchange(version, "/raw", verb: "PUT", body: :stream)
      upload.write("x" * 600)
      upload.write("x" * 600)
      expect([upload.status, upload.head["x-ruvoy-error"]]).to eq([413, "body-too-large"])
    end
  end
end
