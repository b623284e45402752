# frozen_string_literal: true

# Streaming bodies that use each part of Rack's stream, with and without an upgrade; /probe counts.

require_relative "probe"

text = { "content-type" => "text/plain" }

STREAMS = {
  "/methods" => lambda do |stream|
    names = %i[read write << flush close close_read close_write closed?]
    stream << names.reject { |name| stream.respond_to?(name) }.inspect
    stream.close
  end,
  "/read" => lambda do |stream|
    buffer = +"old"
    pieces = [stream.read(3), stream.read(2, buffer), buffer, stream.read, stream.read(1), stream.read]
    stream.write(pieces.inspect)
    stream.close
  end,
  "/write" => lambda do |stream|
    counts = [stream.write("ab"), stream.write("c", "de"), stream.flush.equal?(stream) || stream.flush.nil?]
    stream << counts.inspect << stream.closed?.inspect
    stream.close
    Probe.count("closed") if stream.closed?
  end,
  "/close-write" => lambda do |stream|
    first = stream.read(1)
    stream.write("answered")
    stream.close_write
    begin
      stream.write("too late")
    rescue IOError
      Probe.count("refused")
    end
    Probe.count("read #{first}#{stream.read}")
    stream.close
  end,
  "/close-read" => lambda do |stream|
    stream.close_read
    stream.write(begin
      stream.read(1)
    rescue IOError => e
      e.class.name
    end)
    stream.close
  end,
  # Never closes it.
  "/forget" => ->(stream) { stream.write("forgotten") },
  # Gives it to a task that lives on.
  "/task" => lambda do |stream|
    Async do
      stream.write(stream.read(5).upcase)
    ensure
      stream.close
    end
  end,
  # Both directions at once.
  "/duplex" => lambda do |stream|
    writer = Async { 3.times { |number| stream.write("#{number}\n") && sleep(0.001) } }
    while (bytes = stream.read(2))
      stream.write("#{bytes}\n")
    end
    writer.wait
    stream.close
  end,
  "/fail" => lambda do |stream|
    stream.write("some of it")
    raise "no more"
  end,
  "/vanish" => ->(stream) { Probe.ensured { loop { stream.write(stream.read_partial || sleep) } } }
}.freeze

map("/probe") { run Probe }
run(lambda do |env|
  body = STREAMS.fetch(env["PATH_INFO"])
  env["rack.protocol"] ? [101, { "rack.protocol" => "websocket" }, body] : [200, text, body]
end)
