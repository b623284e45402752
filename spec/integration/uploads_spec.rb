# frozen_string_literal: true

# Uploads that arrive in two pieces, cut at every byte of the message, head included: the digest is right each time.

require "support/integration"

RSpec.describe "an upload in two pieces" do
  serve "protocol"

  body = Random.new(3).bytes(61)
  # 200 bytes each, so that head, sizes and bodies are cut everywhere.
  pad = ->(message) { message.sub("PAD", "p" * (203 - message.bytesize)) }
  head = "POST /digest HTTP/1.1\r\nHost: a.test\r\nX-Pad: PAD\r\n"
  chunks = "1\r\n".b + body[0] + "\r\n1f;ext=1\r\n".b + body[1, 31] + "\r\n1D\r\n".b + body[32..] +
           "\r\n0\r\nX-T: 1\r\n\r\n".b
  messages = {
    "with a length" => pad.call("#{head}Content-Length: 61\r\n\r\n".b + body),
    "in chunks" => pad.call("#{head}Transfer-Encoding: chunked\r\n\r\n".b + chunks)
  }

  messages.each do |kind, message|
    it "is whole wherever it is cut: #{kind}" do
      expect(message.bytesize).to eq(200)
      connection = HTTP1::Connection.new(server)
      (1...200).each do |at|
        connection.write(message.byteslice(0, at))
        # The first piece goes off alone: no answer can come before the second one.
        expect(connection.readable?(0.002)).to be(false)
        connection.write(message.byteslice(at..))
        length = connection.read_head["content-length"].to_i
        expect(connection.read(length)).to eq(Digest::SHA256.hexdigest(body)), "cut at #{at}"
      end
    end
  end

  it "is whole in single bytes" do
    messages.each_value do |message|
      connection = HTTP1::Connection.new(server)
      message.each_char { |byte| connection.write(byte) }
      expect(connection.read(connection.read_head["content-length"].to_i)).to eq(Digest::SHA256.hexdigest(body))
    end
  end

  it "never reaches the application whole if the rest does not come" do
    messages.each_value do |message|
      [20, 150, 199].each do |at|
        connection = HTTP1::Connection.new(server)
        connection.write(message.byteslice(0, at))
        connection.half_close
        expect { connection.read_head }.to raise_error(HTTP1::Broken)
      end
    end
    wait_until("only the probe is in flight") { server.probe["inflight"] == 1 }
  end
end
