# frozen_string_literal: true

# What the soak asks for: short, slow, large and uploaded; and what the process holds, after a collection.

require "json"

PIECE = ("x" * 65_536).freeze

# 5 MiB in pieces.
Large = Class.new do
  def each = 80.times { yield PIECE }
end

figures = lambda do
  2.times { GC.start }
  { "heap slots" => GC.stat(:heap_live_slots), "fibers" => ObjectSpace.each_object(Fiber).count(&:alive?),
    "Ruby threads" => Thread.list.size, "in flight" => Ruvoy::Native.inflight }
end

answers = {
  "/" => ->(_env) { ["hello\n"] },
  "/sleep" => ->(_env) { sleep(0.05) && ["slept\n"] },
  "/upload" => ->(env) { [env["rack.input"].read.bytesize.to_s] },
  "/large" => ->(_env) { Large.new },
  "/figures" => ->(_env) { [JSON.generate(figures.call)] }
}

run ->(env) { [200, { "content-type" => "text/plain" }, answers.fetch(env["PATH_INFO"]).call(env)] }
