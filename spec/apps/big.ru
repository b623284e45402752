# frozen_string_literal: true

# Large bodies: 200 MB down, and uploads that are read slowly and only after /go.

require_relative "probe"

GO = Thread::Queue.new
PIECE = Random.new(1).bytes(65_536).freeze
PIECES = 3200

download = Enumerator.new do |body|
  PIECES.times do
    body << PIECE
    Probe.count("produced")
  end
end

use Rack::Lint
map("/probe") { run Probe }
map("/download") { run ->(_env) { [200, { "content-type" => "application/octet-stream" }, download] } }
map("/go") { run ->(_env) { [200, {}, [GO.push(true) && "go"]] } }
map("/upload") do
  run(lambda do |env|
    Probe.count("waiting")
    GO.pop
    length = 0
    buffer = +""
    while (piece = env["rack.input"].read(262_144, buffer))
      length += piece.bytesize
      sleep(0.001)
    end
    [200, { "content-type" => "text/plain" }, [length.to_s]]
  end)
end
