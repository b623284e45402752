# frozen_string_literal: true

# What a short request costs, counted over 10,000 on a real Envoy: counts do not depend on how fast the machine is.

require "support/integration"
require "support/counting"

RSpec.describe "The cost of a short request" do
  include Counting

  before(:context) { @server = count_server("gates") }
  after(:context) { @server.stop }

  attr_reader :server

  # What 10,000 requests cost, after 200 to warm up, for each.
  def costs(connections)
    load_with(server, 200, connections)
    before = counts(server)
    load_with(server, Counting::REQUESTS, connections)
    counts(server).to_h do |name, count|
      [name, name == "own_objects" ? count : (count - before[name]).fdiv(Counting::REQUESTS)]
    end
  end

  def expect_within_bounds(costs, objects)
    expect(costs["objects"]).to be <= objects + costs["own_objects"]
    expect(costs["allocations"]).to be <= Counting::ALLOCATIONS
    expect(costs["commits"]).to be_within(0.001).of(1)
  end

  it "is within its bounds over one connection" do
    costs = costs(1)
    report("1 connection", costs)
    expect_within_bounds(costs, Counting::OBJECTS_AND_SLEEP)
  end

  it "is within its bounds over 100 connections, where few requests wake the owner thread" do
    costs = costs(100)
    report("100 connections", costs)
    expect_within_bounds(costs, Counting::OBJECTS)
    expect(costs["wakeups"]).to be <= Counting::WAKEUPS
  end

  it "asks the system for nothing, with 100 connections open" do
    costs = system_calls(server, %w[madvise epoll_ctl])
    skip "strace cannot trace here: system calls were NOT counted" if costs.nil?

    report("system calls", costs)
    expect(costs.values).to all(be <= Counting::SYSTEM_CALLS)
  end
end
