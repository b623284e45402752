# frozen_string_literal: true

# Two hundred clients that send or read as slowly as they can, from slowhttptest, while others are served.

require "open3"
require "support/integration"

RSpec.describe "slow clients" do
  serve "protocol"

  seconds = "3"
  modes = { "heads" => ["-H", "/hello"], "bodies" => ["-B", "/echo"], "readers" => ["-X", "/big?500000"] }

  modes.each do |kind, (mode, path)|
    it "do not keep others from being served: slow #{kind}" do
      started = Waiting.now
      command = ["slowhttptest", mode, "-c", "200", "-r", "200", "-i", "1", "-l", seconds, "-p", "2",
                 "-u", "http://127.0.0.1:#{server.port}#{path}"]
      output = Thread.new { Open3.capture2e(*command).first }
      answers = []
      while output.alive?
        answers << get("/hello")
        output.join(0.1)
      end
      expect(output.value).to include("service available:", "YES"), output.value
      expect(Waiting.now - started).to be > 2, output.value
      expect(answers.map(&:status).uniq).to eq([200])
      wait_until("only the probe is in flight") { server.probe["inflight"] == 1 }
    end
  end
end
