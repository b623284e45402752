# frozen_string_literal: true

# Expect: 100-continue: the body is asked for when the application reads, and can be refused before it is sent.

require "support/integration"

RSpec.describe "Expect: 100-continue" do
  serve "protocol", filter: { "limits" => { "request_body_bytes" => 1_000_000 } }

  # @return [HTTP1::Connection] after a head that announces a body
  def announce(path, length: 5)
    connection = HTTP1::Connection.new(server)
    connection.write("POST #{path} HTTP/1.1\r\nHost: a.test\r\n" \
                     "Expect: 100-Continue\r\nContent-Length: #{length}\r\n\r\n")
    connection
  end

  def final(connection)
    head = connection.read_head
    [head.status, connection.read(head["content-length"].to_i)]
  end

  it "is answered with 100 when the application reads" do
    connection = announce("/echo")
    expect(connection.read_head.status).to eq(100)
    expect(connection.readable?(0.05)).to be(false)
    connection.write("hello")
    expect(final(connection)).to eq([200, "hello"])
  end

  it "is answered with 401 at once by an application that does not read" do
    expect(final(announce("/unauthorised"))).to eq([401, "no"])
  end

  it "is answered with 413 at once if the length is over the limit" do
    expect(final(announce("/echo", length: 1_000_001))).to eq([413, "Request body too large\n"])
  end

  it "needs no 100 where the body has come already" do
    connection = announce("/hello")
    connection.write("hello")
    expect(final(connection)).to eq([200, "hello"])
  end

  it "is passed over for HTTP/1.0, which knows no 100" do
    connection = HTTP1::Connection.new(server)
    connection.write("POST /echo HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
    connection.write("hello")
    expect(connection.line).to eq("HTTP/1.0 200 OK")
  end

  %i[h1 h2].each do |version|
    it "carries curl's large upload over #{version}" do
      file = File.join(server.directory, "upload")
      File.binwrite(file, Random.new(5).bytes(900_000))
      upload = get("/digest", "--upload-file", file, "--header", "expect: 100-continue", version: version)
      expect(upload.body).to eq(Digest::SHA256.file(file).hexdigest)
    end
  end
end
