# frozen_string_literal: true

# Answers with as many bytes as the query says, or reads what is sent; waits as many milliseconds as the path says.

PIECE = ("x" * 65_536).freeze

# Bytes in pieces, so that no response is held whole.
Pieces = Struct.new(:bytes) do
  def each
    (bytes / PIECE.bytesize).times { yield PIECE }
    yield PIECE.byteslice(0, bytes % PIECE.bytesize) unless (bytes % PIECE.bytesize).zero?
  end
end

run lambda { |env|
  input = env["rack.input"]
  sleep(env["PATH_INFO"].delete_prefix("/sleep/").to_i / 1000.0) if env["PATH_INFO"].start_with?("/sleep/")
  nil while input.read(65_536)
  bytes = env["QUERY_STRING"].to_i
  [200, { "content-type" => "application/octet-stream", "content-length" => bytes.to_s }, Pieces.new(bytes)]
}
