# frozen_string_literal: true

# Counts what happens to requests inside an application, for specs to ask about: `map("/probe") { run Probe }`.

require "json"

module Probe
  COUNTS = Hash.new(0)

  # Says how often its close was called, and more than once is a count of its own.
  class Body
    def initialize(&each)
      @each = each
      @closed = false
    end

    def each(&) = Probe.ensured { @each.call(&) }

    def close
      Probe.count(@closed ? "closed_again" : "closed")
      @closed = true
    end
  end

  class << self
    def count(name) = COUNTS[name] += 1

    # Counts a block in and out; "ensured" says that its ensure ran.
    def ensured
      count("started")
      yield
    ensure
      count("ensured")
    end

    # @return [Array] a Rack response: what was counted, and the VM's figures
    def call(_env)
      GC.start
      # But for the starters: a bounded number of them stays, as many as once were needed.
      fibers = ObjectSpace.each_object(Fiber).count { |fiber| fiber.alive? && !fiber.is_a?(Ruvoy::Starter) }
      figures = { inflight: Ruvoy::Native.inflight, threads: Thread.list.size, fibers: fibers }
      [200, { "content-type" => "application/json" }, [JSON.generate(COUNTS.merge(figures))]]
    end
  end
end
