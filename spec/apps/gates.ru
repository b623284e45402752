# frozen_string_literal: true

# The smallest application, which also tells what the server has used so far.

require "json"

hello = ->(_env) { [200, { "content-type" => "text/plain" }, ["hello"]] }

# How many objects the application itself makes for a request.
own = lambda do
  before = GC.stat(:total_allocated_objects)
  1000.times { hello.call(nil) }
  (GC.stat(:total_allocated_objects) - before) / 1000.0
end

run lambda { |env|
  next hello.call(env) unless env["PATH_INFO"] == "/counts"

  counts = Ruvoy::Native.counts.merge("objects" => GC.stat(:total_allocated_objects), "own_objects" => own.call)
  [200, { "content-type" => "application/json" }, [JSON.generate(counts)]]
}
