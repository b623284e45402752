# frozen_string_literal: true

require "ruvoy/scheduler"
require "ruvoy/timers"

RSpec.describe Ruvoy::Timers do
  subject(:timers) { described_class.new }

  let(:fired) { [] }

  def start(offset, name = offset) = timers.after(offset) { fired << name }

  def fire_after(seconds) = timers.fire(timers.now + seconds)

  it "ends timers of one duration in the order in which they began" do
    %i[first second third].each { |name| start(1, name) }
    fire_after(0.5)
    expect(fired).to eq([])
    fire_after(1)
    expect(fired).to eq(%i[first second third])
    expect(timers.size).to eq(0)
  end

  it "ends timers of any durations in the order of their time, as Async's own do" do
    random = Random.new(1)
    durations = Array.new(500) { [random.rand(10.0), random.rand(1..5)].sample(random:) }
    theirs = IO::Event::Timers.new
    in_their_order = []
    base = timers.now
    durations.each do |duration|
      timers.schedule(base + duration, proc { fired << duration })
      theirs.schedule(base + duration, proc { in_their_order << duration })
    end
    [1, 4, 11].each { |seconds| [timers, theirs].each { |some| some.fire(base + seconds) } }
    expect(fired).to eq(durations.sort)
    expect(fired).to eq(in_their_order)
  end

  it "tells how long the earliest has to wait" do
    expect(timers.wait_interval).to be_nil
    [5, 3, 4].each { |seconds| start(seconds) }
    expect(timers.wait_interval).to be_within(0.5).of(3)
    expect(timers.wait_interval(timers.now + 4)).to be_within(0.5).of(-1)
  end

  it "calls no timer that was cancelled" do
    handles = Array.new(3) { |index| start(1, index) }
    handles.first(2).each(&:cancel!)
    expect(handles.map(&:cancelled?)).to eq([true, true, false])
    expect(timers.size).to eq(1)
    fire_after(1)
    expect(fired).to eq([2])
    handles.each(&:cancel!)
    expect(timers.size).to eq(0)
  end

  it "lets a timer cancel others and start new ones while it ends" do
    victim = nil
    timers.after(1) do
      victim.cancel!
      start(1, :next)
    end
    victim = start(1, :victim)
    fire_after(1)
    expect([fired, timers.size]).to eq([[], 1])
    fire_after(3)
    expect(fired).to eq([:next])
  end

  it "does not end one that is started meanwhile, whenever its time is" do
    again = -> { timers.after(-1) { fired << :again and again.call } }
    again.call
    3.times { fire_after(0) }
    expect(fired.size).to eq(3)
  end

  it "goes on where a timer raises" do
    timers.after(1) { raise "of the application" }
    start(1, :after)
    expect { fire_after(1) }.to raise_error("of the application")
    fire_after(1)
    expect(fired).to eq([:after])
  end

  it "keeps no more cancelled timers than others, and a few" do
    start(1, :stays)
    10_000.times { start(2).cancel! }
    expect(timers.instance_variable_get(:@handles).size).to be < 300
    expect(timers.size).to eq(1)
  end

  it "refuses a duration that never ends" do
    expect { start(Float::INFINITY) }.to raise_error(ArgumentError, /finite/)
  end

  it "takes the place of Async's own, unless these can do more" do
    expect(described_class.in_place_of(IO::Event::Timers.new)).to be_a(described_class)
    newer = Class.new(IO::Event::Timers) { def pause = nil }.new
    expect(described_class.in_place_of(newer)).to be(newer)
  end

  [IO::Event::Timers, IO::Event::Timers::Handle].each do |theirs|
    it "leaves Async's own in their place where #{theirs} can do more" do
      more = theirs.public_instance_methods(false) + [:pause]
      allow(theirs).to receive(:public_instance_methods).with(false).and_return(more)
      expect(described_class.in_place_of(IO::Event::Timers.new)).to be_a(IO::Event::Timers)
    end
  end

  it "are those of sleeps and timeouts, which can be moved" do
    outcome = []
    Thread.new do
      scheduler = Ruvoy::Scheduler.new
      Fiber.set_scheduler(scheduler)
      expect(scheduler.instance_variable_get(:@timers)).to be_a(described_class)
      3.times { |n| scheduler.async { sleep(0.01) and outcome << n } }
      scheduler.async do |task|
        sleep(0.05)
        task.with_timeout(0.01) { |timeout| (timeout.duration = 60) and sleep(0.02) and outcome << :moved }
        task.with_timeout(0.01) { sleep }
      rescue Async::TimeoutError
        outcome << :timeout
      end
      scheduler.run_once while scheduler.children?
      scheduler.shut_down(1)
    end.join
    expect(outcome).to eq([0, 1, 2, :moved, :timeout])
  end
end
