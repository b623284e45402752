# frozen_string_literal: true

# What is there crosses at once, in both directions, before the whole is there.

require "support/integration"

RSpec.describe "streaming" do
  serve "streaming"

  %i[h1 h2].each do |version|
    context "over #{version}" do
      it "delivers the first chunk of a response before the last one exists" do
        download = exchange(version, "/gated")
        expect([download.status, download.read]).to eq([200, "first\n"])
        expect(get("/release").body).to eq("released")
        expect(download.body).to eq("last\n")
      end

      it "delivers the first line of an upload before the rest is sent" do
        upload = exchange(version, "/upload", verb: "POST", body: :stream)
        upload.write("first\n")
        expect(get("/seen").body).to eq("first\n")
        upload.write("rest")
        upload.finish
        expect(upload.body).to eq(Digest::SHA256.hexdigest("first\nrest"))
      end

      it "lets an application answer while it reads" do
        echo = exchange(version, "/echo", verb: "POST", body: :stream)
        20.times do |number|
          echo.write("line #{number}\n")
          expect(echo.read).to eq("got line #{number}\n")
        end
        echo.finish
        expect([echo.status, echo.read]).to eq([200, nil])
      end

      it "lets a streaming body answer while it reads" do
        echo = exchange(version, "/stream-echo", verb: "POST", body: :stream)
        echo.write("12345")
        expect(echo.read).to eq("got 12345")
        echo.write("67")
        echo.finish
        expect(echo.body).to eq("got 67")
      end
    end
  end
end
