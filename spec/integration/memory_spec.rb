# frozen_string_literal: true

# A slow reader and a slow application make the other side wait: resident memory stays bounded.

require "support/integration"

RSpec.describe "memory" do
  let(:length) { 3200 * 65_536 }
  let(:bound_kib) { @idle_kib + (40 * 1024) }
  attr_reader :server

  # A server for each example, since an allocator keeps what it once had.
  before do
    @server = EnvoyProcess.start(rackup: "big")
    server.probe # loads what is loaded lazily
    @idle_kib = wait_until_steady("resident memory") { server.rss_kib }
  end

  after { server.stop }

  def produced = server.probe["produced"]

  # Reads to the end and samples the server's memory on the way.
  # @return [Array(Integer, Integer)] bytes, most KiB seen
  def drain(output)
    total = most = 0
    buffer = +""
    while output.read(2_000_000, buffer)
      total += buffer.bytesize
      most = [most, server.rss_kib].max
    end
    [total, most]
  end

  %i[h1 h2].each do |version|
    it "is bounded while a reader over #{version} is slow" do
      before = produced
      (total, most), status = curl_pipe(server, "/download", version: version) do |output|
        wait_until("the producer starts") { produced > before }
        wait_until_steady("the producer") { produced }
        expect(produced - before).to be < 1600
        expect(server.rss_kib).to be < bound_kib
        drain(output)
      end
      expect([total, status]).to eq([length, 0])
      expect(most).to be < bound_kib
    end

    it "is bounded while an application reads an upload over #{version} slowly" do
      before = server.probe["waiting"]
      answer, status = curl_pipe(server, "/upload", "--upload-file", upload, version: version) do |output|
        wait_until("the application has the request") { server.probe["waiting"] > before }
        wait_until_steady("the upload") { server.stats["http.ruvoy.downstream_cx_rx_bytes_total"].fdiv(1 << 16).round }
        expect(server.rss_kib).to be < bound_kib
        get("/go")
        most = 0
        wait_until("the answer") do
          most = [most, server.rss_kib].max
          output.wait_readable(0.02)
        end
        expect(most).to be < bound_kib
        output.read
      end
      expect([answer, status]).to eq([length.to_s, 0])
    end
  end

  # A sparse file; its content does not matter.
  def upload
    File.join(server.directory, "upload").tap { |path| File.open(path, "wb") { |file| file.truncate(length) } }
  end
end
