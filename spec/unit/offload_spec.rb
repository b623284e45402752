# frozen_string_literal: true

# Ruvoy.offload and Ruvoy::Offload as their callers see them, in every environment; nothing here knows of Envoy.

require "spec_helper"
require "open3"
require "rbconfig"
require "ruvoy"
require "support/callers"
require "tempfile"

RSpec.describe Ruvoy::Offload do
  extend InEachEnvironment
  include Waiting

  let(:pool) { described_class.new(limit: 2) }
  let(:gate) { Thread::Queue.new }

  # Starts a caller whose call runs until the gate lets it go on, and gives its value.
  def hold(value = nil, offload: pool)
    running = Thread::Queue.new
    caller = start do
      offload.call do
        running << true
        gate.pop
        value
      end
    end
    running.pop
    caller
  end

  # Starts a caller whose call must wait for its turn.
  def queue(offload: pool, &)
    waiting = offload.stats[:waiting]
    caller = start { offload.call(&) }
    wait_until("the call waits") { offload.stats[:waiting] == waiting + 1 }
    caller
  end

  def stats(running, waiting, done) = { running: running, waiting: waiting, done: done }

  in_each_environment do
    it "gives the block's value" do
      expect([pool.call { 42 }, pool.call { nil }, pool.call { false }]).to eq([42, nil, false])
    end

    it "runs the block on another thread, outside of the caller's fiber" do
      thread, scheduler = pool.call { [Thread.current, Fiber.current_scheduler] }
      expect(thread).not_to be(Thread.current)
      expect(scheduler).to be_nil
    end

    it "raises what the block raises, with its backtrace and then the caller's" do
      failure = IOError.new("no disk")
      error = begin
        pool.call { raise failure }
      rescue IOError => e
        e
      end
      expect(error).to be(failure)
      expect(error.backtrace.first).to start_with("#{__FILE__}:#{__LINE__ - 5}:")
      expect(error.backtrace.drop(1)).to include(start_with("#{__FILE__}:#{__LINE__ - 6}:"))
      expect(error.backtrace).to include(start_with("#{RSpec::Core.path_to_executable[%r{\A.*(?=/exe/)}]}/lib/rspec/"))
    end

    it "lets others go on while a caller waits" do
      caller = hold(:late)
      expect(pool.call { :early }).to eq(:early)
      expect(caller).not_to be_ended
      gate << true
      expect(caller.wait).to eq(:late)
    end

    it "lets others go on while a call blocks inside of C" do
      Tempfile.create do |file|
        file.flock(File::LOCK_EX)
        caller = start { pool.call { File.open(file.path) { |other| other.flock(File::LOCK_EX) } } }
        wait_until("it runs") { pool.stats[:running] == 1 }
        expect(pool.call { :early }).to eq(:early)
        expect(caller).not_to be_ended
        file.flock(File::LOCK_UN)
        expect(caller.wait).to eq(0)
      end
    end

    it "runs as many calls at once as the limit says" do
      most = 0
      lock = Thread::Mutex.new
      callers = Array.new(20) do |number|
        start do
          pool.call do
            lock.synchronize { most = [most, pool.stats[:running]].max }
            Thread.pass
            number
          end
        end
      end
      expect(callers.map(&:wait)).to eq((0...20).to_a)
      expect(most).to eq(2)
      expect(pool.stats).to eq(stats(0, 0, 20))
    end

    it "serves callers that wait in the order in which they came" do
      holding = Array.new(2) { hold }
      order = Thread::Queue.new
      callers = Array.new(10) { |number| queue { order << number } }
      expect(pool.stats).to eq(stats(2, 10, 0))
      gate << true # One thread goes on with all of them.
      callers.each(&:wait)
      gate << true
      holding.each(&:wait)
      expect(Array.new(10) { order.pop }).to eq((0...10).to_a)
    end

    it "tells how many calls run, wait and are done, however they ended" do
      expect(pool.stats).to eq(stats(0, 0, 0))
      holding = [hold, hold]
      waiting = queue { raise IOError }
      expect(pool.stats).to eq(stats(2, 1, 0))
      2.times { gate << true }
      holding.each(&:wait)
      expect { waiting.wait }.to raise_error(IOError)
      expect(pool.stats).to eq(stats(0, 0, 3))
    end

    it "counts a call out before its caller goes on" do
      100.times { |number| expect(pool.call { pool.stats }).to eq(stats(1, 0, number)) }
      expect(pool.stats).to eq(stats(0, 0, 100))
    end

    it "passes a copy of the fiber storage" do
      before = Fiber[:offload_spec]
      Fiber[:offload_spec] = "caller's"
      inside = pool.call do
        seen = Fiber[:offload_spec]
        Fiber[:offload_spec] = "block's"
        [seen, Fiber[:offload_spec]]
      end
      expect(inside).to eq(["caller's", "block's"])
      expect(Fiber[:offload_spec]).to eq("caller's")
      Fiber[:offload_spec] = nil
      expect(pool.call { Fiber[:offload_spec] }).to be_nil
    ensure
      Fiber[:offload_spec] = before
    end

    it "passes no locals, and leaves none to the next call" do
      Thread.current[:offload_spec] = "fiber's"
      Thread.current.thread_variable_set(:offload_spec, "thread's")
      single = described_class.new(limit: 1)
      locals = lambda do
        thread = Thread.current
        seen = [thread, thread[:offload_spec], thread.thread_variable_get(:offload_spec)]
        thread[:offload_spec] = "block's"
        seen
      end
      first, second = Array.new(2) { single.call(&locals) }
      expect(first).to eq([second.first, nil, nil])
      expect(second).to eq([first.first, nil, nil])
    ensure
      Thread.current[:offload_spec] = nil
      Thread.current.thread_variable_set(:offload_spec, nil)
    end

    describe "interrupting a caller" do
      let(:interruption) { IOError.new("interrupted") }

      it "lets its call end before it unwinds" do
        caller = hold
        caller.interrupt(interruption)
        expect(caller).not_to be_ended
        expect(pool.stats).to eq(stats(1, 0, 0))
        gate << true
        expect { caller.wait }.to raise_error(interruption)
        expect(pool.stats).to eq(stats(0, 0, 1))
      end

      it "may happen again and again, and the last unwinds" do
        caller = hold
        20.times { caller.interrupt(StandardError.new("one of many")) }
        caller.interrupt(interruption)
        expect(caller).not_to be_ended
        expect(pool.stats).to eq(stats(1, 0, 0))
        gate << true
        expect { caller.wait }.to raise_error(interruption)
      end

      it "unwinds with what is no StandardError rather than with what is one" do
        callers = [hold, hold]
        callers.zip([[SignalException, IOError], [IOError, SignalException]]) do |caller, classes|
          classes.each { |exception| caller.interrupt(exception.new("INT")) }
        end
        2.times { gate << true }
        expect { callers.first.wait }.to raise_error(SignalException)
        expect { callers.last.wait }.to raise_error(SignalException)
      end

      it "drops what the call raised" do
        single = described_class.new(limit: 1)
        caller = start { single.call { gate.pop && raise("the block's") } }
        wait_until("it runs") { single.stats[:running] == 1 }
        caller.interrupt(interruption)
        gate << true
        expect { caller.wait }.to raise_error(interruption)
      end

      it "withdraws a call that waits, at once" do
        holding = [hold, hold]
        ran = Thread::Queue.new
        callers = Array.new(3) { |number| queue { ran << number } }
        callers[1].interrupt(interruption)
        expect { callers[1].wait }.to raise_error(interruption)
        expect(pool.stats).to eq(stats(2, 2, 0))
        2.times { gate << true }
        [*holding, callers[0], callers[2]].each(&:wait)
        expect(Array.new(ran.size) { ran.pop }).to contain_exactly(0, 2)
        expect(pool.stats).to eq(stats(0, 0, 4))
      end

      it "runs the caller's ensure once, after the call" do
        log = Thread::Queue.new
        caller = start do
          pool.call { gate.pop && (log << :block) }
        ensure
          log << :ensure
        end
        wait_until("it runs") { pool.stats[:running] == 1 }
        2.times { caller.interrupt(interruption) }
        gate << true
        expect { caller.wait }.to raise_error(interruption)
        expect(Array.new(log.size) { log.pop }).to eq(%i[block ensure])
      end

      it "does not disturb the next call of the same caller" do
        caller = start do
          pool.call { gate.pop }
        rescue IOError
          Array.new(50) { |number| pool.call { number } }
        end
        wait_until("it runs") { pool.stats[:running] == 1 }
        caller.interrupt(interruption)
        gate << true
        expect(caller.wait).to eq((0...50).to_a)
      end
    end

    describe "nesting" do
      let(:other) { described_class.new(limit: 1) }

      it "raises in the block that calls its own pool" do
        expect { pool.call { pool.call { 1 } } }.to raise_error(Ruvoy::Offload::NestedError, /calls its own Offload/)
        expect(pool.stats).to eq(stats(0, 0, 1))
      end

      it "raises through another pool" do
        expect { pool.call { other.call { pool.call { 1 } } } }.to raise_error(Ruvoy::Offload::NestedError)
      end

      it "raises on threads and fibers that the block starts" do
        attempt = lambda do |*|
          pool.call { 1 }
        rescue Ruvoy::Error => e
          e
        end
        ways = [-> { Thread.new(&attempt).value }, -> { Fiber.new(&attempt).resume },
                -> { Sync { Async(&attempt).wait } }, -> { Ruvoy.offload(&attempt) }]
        ways.each { |way| expect(pool.call(&way)).to be_a(Ruvoy::Offload::NestedError) }
      end

      it "is fine with another pool, and one after the other" do
        expect(pool.call { other.call { 1 } + other.call { 1 } }).to eq(2)
        expect(pool.call { pool.stats[:running] }).to eq(1)
      end

      it "is fine on a thread that outlives the call" do
        thread = pool.call { Thread.new { gate.pop && pool.call { :later } } }
        gate << true
        expect(thread.value).to eq(:later)
      end

      it "is fine without a limit" do
        endless = described_class.new(limit: nil)
        expect(endless.call { endless.call { endless.call { endless.stats[:running] } } }).to eq(3)
        expect(Ruvoy.offload { Ruvoy.offload { 1 } }).to eq(1)
      end
    end

    describe "#close" do
      it "waits for calls that run and calls that wait, and refuses later ones" do
        callers = [hold(1), hold(2), queue { 3 }]
        closer = start { pool.close }
        wait_until("it is closed") { pool.closed? }
        expect { pool.call { 4 } }.to raise_error(Ruvoy::Offload::ClosedError, /closed/)
        expect(closer).not_to be_ended
        2.times { gate << true }
        expect(closer.wait).to be_nil
        expect(callers.map(&:wait)).to eq([1, 2, 3])
        expect(pool.stats).to eq(stats(0, 0, 3))
      end

      it "ends the threads" do
        threads = Array.new(2) { start { pool.call { gate.pop && Thread.current } } }
        wait_until("both run") { pool.stats[:running] == 2 }
        2.times { gate << true }
        threads.map!(&:wait)
        expect(threads.uniq.size).to eq(2)
        expect(threads).to all(be_alive)
        pool.close
        expect(threads.map(&:alive?)).to eq([false, false])
      end

      it "may be called again, and by several at once" do
        caller = hold
        closers = Array.new(3) { start { pool.close } }
        wait_until("it is closed") { pool.closed? }
        gate << true
        [caller, *closers].each(&:wait)
        expect(pool.close).to be_nil
        expect(pool).to be_closed
      end

      it "works on a pool that was never used" do
        expect(pool.close).to be_nil
        expect { pool.call { 1 } }.to raise_error(Ruvoy::Offload::ClosedError)
      end

      it "raises inside a call of the pool, which stays open" do
        [pool, described_class.new(limit: nil)].each do |offload|
          expect { offload.call { offload.close } }.to raise_error(Ruvoy::Offload::NestedError, /closes its own/)
          expect(offload.call { 1 }).to eq(1)
        end
      end

      it "ends when the last call that waits is withdrawn" do
        holding = [hold, hold]
        waiting = queue { 3 }
        closer = start { pool.close }
        wait_until("it is closed") { pool.closed? }
        waiting.interrupt(IOError.new("interrupted"))
        expect { waiting.wait }.to raise_error(IOError)
        2.times { gate << true }
        [*holding, closer].each(&:wait)
        expect(pool.stats).to eq(stats(0, 0, 2))
      end

      it "can be interrupted; the pool stays closed" do
        caller = hold(1)
        closer = start { pool.close }
        wait_until("it is closed") { pool.closed? }
        closer.interrupt(IOError.new("interrupted"))
        expect { closer.wait }.to raise_error(IOError, "interrupted")
        gate << true
        expect(caller.wait).to eq(1)
        expect { pool.call { 1 } }.to raise_error(Ruvoy::Offload::ClosedError)
        pool.close
      end
    end
  end

  describe "under Async" do
    around { |example| Sync { example.run } }

    include Callers::Tasks

    it "makes a stopped task wait for its call, and stop then, also when it is stopped twice" do
      [1, 3].each do |times|
        log = []
        task = Async do
          pool.call { gate.pop }
          log << :went_on
        ensure
          log << pool.stats[:running]
        end
        wait_until("it runs") { pool.stats[:running] == 1 }
        times.times { task.stop }
        expect(task).to be_alive
        gate << true
        task.wait
        expect(log).to eq([0])
      end
    end

    it "makes a timeout take effect after the call" do
      task = Async do |inner|
        inner.with_timeout(0.001) { pool.call { gate.pop && :value } }
      rescue Async::TimeoutError
        pool.stats
      end
      wait_until("it runs") { pool.stats[:running] == 1 }
      timer = Async { |inner| inner.with_timeout(0.002) { sleep } }
      expect { timer.wait }.to raise_error(Async::TimeoutError)
      gate << true
      expect(task.wait).to eq(stats(0, 0, 1))
    end

    it "does not lose a cancellation to a timeout, in either order" do
      late = Async::Task.current.async do |task|
        task.with_timeout(0.001) { pool.call { gate.pop } }
      rescue Async::TimeoutError
        :lives
      end
      early = Async::Task.current.async do |task|
        task.with_timeout(0.005) { pool.call { gate.pop } }
      rescue Async::TimeoutError
        :lives
      end
      wait_until("both run") { pool.stats[:running] == 2 }
      early.stop
      sleeper = Async { |task| task.with_timeout(0.01) { sleep } }
      expect { sleeper.wait }.to raise_error(Async::TimeoutError)
      late.stop
      2.times { gate << true }
      expect([early.wait, late.wait]).to eq([nil, nil])
      expect([early.status, late.status]).to eq(%i[cancelled cancelled])
    end
  end

  describe "a reactor that ends" do
    it "waits for calls of its tasks" do
      log = Thread::Queue.new
      thread = Thread.new do
        Async do |task|
          task.async { pool.call { gate.pop && (log << :called) } }
          wait_until("it runs") { pool.stats[:running] == 1 }
          task.stop
        end
        log << :ended
      end
      wait_until("it runs") { pool.stats[:running] == 1 }
      gate << true
      thread.join
      expect([log.pop, log.pop]).to eq(%i[called ended])
    end
  end

  describe ".new" do
    it "takes a limit, 16 if it is not told" do
      expect([described_class.new.limit, described_class.new(limit: 1).limit]).to eq([16, 1])
      expect(described_class.new(limit: nil).limit).to be_nil
    end

    [0, -1, 1.5, "16", :all, Float::INFINITY].each do |limit|
      it "refuses the limit #{limit.inspect}", :unchecked do
        message = /\Alimit is .* not #{Regexp.escape(limit.inspect)}\z/
        expect { described_class.new(limit: limit) }.to raise_error(ArgumentError, message)
      end
    end

    [0, -1, "1", nil, Float::NAN, Float::INFINITY, Complex(1, 1)].each do |seconds|
      it "refuses the idle timeout #{seconds.inspect}", :unchecked do
        expect { described_class.new(idle_timeout: seconds) }
          .to raise_error(ArgumentError, /\Aidle_timeout is .* not #{Regexp.escape(seconds.inspect)}\z/)
      end
    end

    it "starts no thread" do
      threads = Thread.list
      described_class.new
      expect(Thread.list - threads).to be_empty
    end
  end

  it "has its limit and counts in its inspect" do
    pool.call { nil }
    expect(pool.inspect).to eq("#<Ruvoy::Offload limit=2 running=0 waiting=0 done=1>")
    pool.close
    expect(pool.inspect).to eq("#<Ruvoy::Offload limit=2 running=0 waiting=0 done=1 closed>")
  end

  it "needs a block", :unchecked do
    expect { pool.call }.to raise_error(ArgumentError, "no block given")
    expect { Ruvoy.offload }.to raise_error(ArgumentError, "no block given")
  end

  it "has its errors under Ruvoy's" do
    errors = [Ruvoy::Offload::NestedError, Ruvoy::Offload::ClosedError, Ruvoy::Offload::KilledError]
    expect(errors.map(&:superclass)).to all(be(Ruvoy::Error))
  end
end

RSpec.describe Ruvoy, ".offload" do
  extend InEachEnvironment

  in_each_environment do
    it "runs any number of blocks at once" do
      gate = Thread::Queue.new
      running = Thread::Queue.new
      callers = Array.new(100) do |number|
        start do
          described_class.offload do
            running << number
            gate.pop
            number
          end
        end
      end
      expect(Array.new(100) { running.pop }).to match_array(0...100)
      100.times { gate << true }
      expect(callers.map(&:wait)).to eq((0...100).to_a)
    end

    it "raises what the block raises" do
      expect { described_class.offload { raise IOError, "no disk" } }.to raise_error(IOError, "no disk")
    end
  end

  it "loads neither async nor anything native" do
    script = 'require "ruvoy"; puts Ruvoy.offload { 1 + 1 }, $LOADED_FEATURES.grep(%r{async|rack/|libruvoy|io/event})'
    output, status = Open3.capture2e(RbConfig.ruby, "-w", "-I", File.expand_path("../../lib", __dir__), "-e", script)
    expect(output).to eq("2\n")
    expect(status).to be_success
  end
end
