# frozen_string_literal: true

# Small buffers change how bodies are cut, not what arrives; many streams that share a total all come to their end.

require "support/integration"

RSpec.describe "limits.buffer_bytes" do
  serve "plain", concurrency: 2,
                 filter: { "limits" => { "buffer_bytes" => 4096, "total_buffer_bytes" => 32_768 } }

  let(:upload) { Random.new(3).bytes(3_000_000) }
  let(:upload_path) { File.join(server.directory, "upload").tap { |path| File.binwrite(path, upload) } }

  # What /download of the application sends.
  let(:download_digest) do
    megabyte = Random.new(1).bytes(1 << 20)
    digest = Digest::SHA256.new
    50.times { digest << megabyte }
    digest.hexdigest
  end

  %i[h1 h2].each do |version|
    it "splits larger chunks over #{version}" do
      expect(get("/download", version: version).digest).to eq(download_digest)
    end

    it "leaves an upload whole over #{version}" do
      answer = get("/raw", "--upload-file", upload_path, version: version)
      expect(answer.body).to eq(Digest::SHA256.hexdigest(upload))
    end
  end

  it "shares limits.total_buffer_bytes among many streams without a deadlock" do
    transfers = Array.new(12) do |number|
      version = number.even? ? :h1 : :h2
      Thread.new { number % 3 == 0 ? get("/download", version: version).digest : put(version) }
    end
    expected = Array.new(12) { |number| number % 3 == 0 ? download_digest : Digest::SHA256.hexdigest(upload) }
    expect(transfers.map(&:value)).to eq(expected)
  end

  def put(version) = get("/raw", "--upload-file", upload_path, version: version).body
end
