# frozen_string_literal: true

# Answers and reads in steps that another request releases, so that specs see what crosses before the whole is there.

require "digest"

GATE = Thread::Queue.new
SEEN = Thread::Queue.new
text = { "content-type" => "text/plain" }

# A body with a pause in the middle.
gated = Enumerator.new do |body|
  body << "first\n"
  GATE.pop
  body << "last\n"
end

use Rack::Lint
map("/gated") { run ->(_env) { [200, text, gated] } }
map("/release") { run ->(_env) { [200, text, [GATE.push(true) && "released"]] } }

# Reads line by line and shows the first one to /seen as soon as it is there.
map("/upload") do
  run(lambda do |env|
    SEEN << (first = env["rack.input"].gets)
    [200, text, [Digest::SHA256.hexdigest(first + env["rack.input"].read)]]
  end)
end
map("/seen") { run ->(_env) { [200, text, [SEEN.pop]] } }

# Echoes each line as it comes.
map("/echo") do
  run(lambda do |env|
    lines = Enumerator.new do |body|
      while (line = env["rack.input"].gets)
        body << "got #{line}"
      end
    end
    [200, text, lines]
  end)
end

# The same by a streaming body.
map("/stream-echo") do
  run(lambda do |_env|
    echo = lambda do |stream|
      while (bytes = stream.read(5))
        stream.write("got #{bytes}")
      end
    ensure
      stream.close
    end
    [200, text, echo]
  end)
end
