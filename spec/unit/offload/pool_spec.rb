# frozen_string_literal: true

# The threads of a pool: how they are reused and end, what interruptions of threads do, forks and the process's end.

require "spec_helper"
require "json"
require "rbconfig"
require "ruvoy"
require "support/waiting"
require "timeout"

RSpec.describe Ruvoy::Offload::Pool do
  include Waiting

  let(:pool) { Ruvoy::Offload.new(limit: 4) }
  let(:gate) { Thread::Queue.new }

  def threads_of_pools = Thread.list.select { |thread| thread.name == "ruvoy-offload" }

  # Runs calls at the same time and gives their threads.
  def occupy(count, offload: pool)
    callers = Array.new(count) { Thread.new { offload.call { gate.pop && Thread.current } } }
    wait_until("all run") { offload.stats[:running] == count }
    count.times { gate << true }
    callers.map(&:value)
  end

  def hold(offload: pool)
    running = offload.stats[:running]
    caller = Thread.new { offload.call { gate.pop } }
    caller.report_on_exception = false
    wait_until("it runs and its caller waits") { offload.stats[:running] == running + 1 && caller.stop? }
    caller
  end

  describe "threads" do
    it "are started as they are needed, up to the limit" do
      expect(occupy(1)).to eq(occupy(1))
      expect(occupy(3).uniq.size).to eq(3)
      threads = Array.new(50) { Thread.new { pool.call { Thread.pass || Thread.current } } }.map(&:value)
      expect(threads.uniq.size).to be <= 4
    end

    it "are reused, the one that rested last first" do
      threads = occupy(4)
      expect(threads.uniq.size).to eq(4)
      expect(Array.new(20) { pool.call { Thread.current } }.uniq.size).to eq(1)
    end

    it "have a name, and nothing of the fiber that started them" do
      Fiber.new(storage: { offload_spec: "first caller's" }) { pool.call { nil } }.resume
      seen = -> { [Thread.current.name, Fiber[:offload_spec]] }
      name, value = Fiber.new(storage: { another: 1 }) { pool.call(&seen) }.resume
      expect([name, value]).to eq(["ruvoy-offload", nil])
    end

    it "keep no values, blocks or storage of calls that ended", :unchecked do
      kept = ObjectSpace::WeakMap.new
      2_000.times do
        Fiber.new(storage: { offload_spec: Object.new.tap { |object| kept[object] = true } }) do
          value = Object.new
          kept[value] = true
          pool.call { value }
        end.resume
      end
      GC.start
      # Of 4,000 that there would be; stacks of fibers that ended still seem to hold some.
      expect(kept.size).to be < 2_000
    end

    it "end when they were idle for long enough, and others are started later" do
      pool = Ruvoy::Offload.new(limit: 4, idle_timeout: 0.01)
      threads = occupy(4, offload: pool)
      wait_until("they end") { threads.none?(&:alive?) }
      expect(pool.call { 1 }).to eq(1)
    end

    it "end although calls go on, if those need fewer" do
      pool = Ruvoy::Offload.new(limit: 4, idle_timeout: 0.3)
      threads = occupy(4, offload: pool)
      wait_until("all but one end") do
        pool.call { nil }
        threads.one?(&:alive?)
      end
      expect(threads).to include(pool.call { Thread.current })
    end

    it "lose no call when they end at the moment it comes" do
      pool = Ruvoy::Offload.new(limit: 2, idle_timeout: 0.001)
      values = Array.new(300) do |number|
        Thread.new { sleep(number.fdiv(300) * 0.002) }.join
        pool.call { number }
      end
      expect(values).to eq((0...300).to_a)
    end

    it "that are idle may be killed by anybody" do
      occupy(4).each(&:kill).each(&:join)
      expect(occupy(4).uniq.size).to eq(4)
    end

    it "that cannot be had raise in the caller, and nothing is lost" do
      allow(Thread).to receive(:new).and_raise(ThreadError, "can't create Thread")
      expect { pool.call { 1 } }.to raise_error(ThreadError, "can't create Thread")
      expect(pool.stats).to eq(running: 0, waiting: 0, done: 0)
      allow(Thread).to receive(:new).and_call_original
      expect(occupy(4).uniq.size).to eq(4)
    end

    it "serve hundreds of callers with as many threads as the limit says" do
      before = threads_of_pools
      values = Array.new(500) { |number| Thread.new { pool.call { number } } }.map(&:value)
      expect(values).to eq((0...500).to_a)
      expect((threads_of_pools - before).size).to be <= 4
    end
  end

  describe "a caller's thread" do
    it "that is killed waits for its call to end, also if it is killed again or gets an exception" do
      log = Thread::Queue.new
      caller = Thread.new do
        pool.call { gate.pop && (log << :block) }
        log << :went_on
      ensure
        log << :ensure
      end
      wait_until("it runs and its caller waits") { pool.stats[:running] == 1 && caller.stop? }
      3.times do
        caller.kill
        caller.raise(IOError)
        wait_until("it waits again") { caller.stop? || !caller.alive? }
      end
      expect(caller).to be_alive
      gate << true
      expect(caller.join).to be(caller)
      expect(caller.value).to be_nil
      expect(Array.new(log.size) { log.pop }).to eq(%i[block ensure])
    end

    it "that is killed while its call waits is gone at once" do
      pool = Ruvoy::Offload.new(limit: 1)
      holder = hold(offload: pool)
      ran = Thread::Queue.new
      caller = Thread.new { pool.call { ran << true } }
      wait_until("it waits") { pool.stats[:waiting] == 1 && caller.stop? }
      caller.kill.join
      expect(pool.stats).to eq(running: 1, waiting: 0, done: 0)
      gate << true
      holder.join
      expect(pool.call { ran.size }).to eq(0)
    end

    it "may have a timeout around the call" do
      caller = Thread.new do
        Timeout.timeout(0.005) { pool.call { gate.pop } }
      rescue Timeout::Error
        pool.stats
      end
      wait_until("it runs") { pool.stats[:running] == 1 }
      expect { Timeout.timeout(0.02) { sleep } }.to raise_error(Timeout::Error)
      expect(caller).to be_alive
      gate << true
      expect(caller.value).to eq(running: 0, waiting: 0, done: 1)
    end

    it "may have nested timeouts, and the outer one wins if both pass" do
      caller = Thread.new do
        Timeout.timeout(0.01) do
          Timeout.timeout(0.001) { pool.call { gate.pop } }
        rescue Timeout::Error
          :inner
        end
      rescue Timeout::Error
        :outer
      end
      wait_until("it runs") { pool.stats[:running] == 1 }
      expect { Timeout.timeout(0.05) { sleep } }.to raise_error(Timeout::Error)
      gate << true
      expect(caller.value).to eq(:outer)
    end

    it "keeps its own mask" do
      caller = Thread.new do
        Thread.current.report_on_exception = false
        Thread.handle_interrupt(IOError => :never) { pool.call { gate.pop } }
      end
      wait_until("it runs and its caller waits") { pool.stats[:running] == 1 && caller.stop? }
      caller.raise(IOError, "masked")
      expect(caller).to be_pending_interrupt
      gate << :value
      expect { caller.value }.to raise_error(IOError, "masked")
    end

    it "leaves no call behind in a hail of exceptions" do
      hailed = pool # RSpec's own lock is not made for it.
      running = ended = 0
      call = lambda do
        running += 1
        3.times { Thread.pass }
        ended += 1
      end
      outcomes = Array.new(1_000)
      caller = masked_thread do
        outcomes.map! do
          interruption = interruption_of { hailed.call(&call) }
          [interruption.class, running - ended]
        end
      end
      while caller.alive?
        caller.raise(IOError) unless caller.pending_interrupt?
        Thread.pass
      end
      expect(outcomes.map(&:last)).to all(be_zero)
      expect(outcomes.map(&:first).tally[IOError]).to be > 100
      expect(ended).to be > 100
      expect(pool.stats).to eq(running: 0, waiting: 0, done: ended)
      expect(occupy(4).uniq.size).to eq(4)
    end

    # The thread is masked before it starts.
    def masked_thread(&) = Thread.handle_interrupt(IOError => :never) { Thread.new(&) }

    def interruption_of(&)
      Thread.handle_interrupt(IOError => :immediate, &)
      nil
    rescue IOError => e
      e
    end

    it "may be killed at any moment, and the pool stays whole" do
      ended = Thread::Queue.new
      callers = Array.new(300) { Thread.new { 20.times { pool.call { ended << true } } } }
      callers.each(&:kill).each(&:join)
      wait_until("the pool rests") { pool.stats[:running].zero? }
      expect(pool.stats).to include(waiting: 0, done: ended.size)
      expect(occupy(4).uniq.size).to eq(4)
    end
  end

  describe "threads killed at any moment" do
    it "lose no caller" do
      pool = Ruvoy::Offload.new(limit: 3)
      before = threads_of_pools
      callers = Array.new(60) do |number|
        Thread.new do
          pool.call do
            Thread.pass
            number
          end
        rescue Ruvoy::Offload::KilledError
          :killed
        end
      end
      (threads_of_pools - before).each(&:kill) while callers.any?(&:alive?) && Thread.pass.nil?
      outcomes = callers.map(&:value)
      outcomes.each_with_index { |outcome, number| expect(outcome).to eq(number).or eq(:killed) }
      expect(pool.stats).to eq(running: 0, waiting: 0, done: 60)
      expect(occupy(3, offload: pool).uniq.size).to eq(3)
    end
  end

  describe "a fork" do
    # Runs the block in a child and gives what it returned.
    def in_child
      reader, writer = IO.pipe
      child = fork do
        reader.close
        writer.write(JSON.generate(yield))
        writer.close
        exit!(0)
      end
      writer.close
      value = JSON.parse(reader.read, symbolize_names: true)
      Process.wait(child)
      value
    ensure
      [reader, writer].each(&:close)
    end

    it "has threads of its own" do
      pool.call { nil }
      holder = hold
      stats, value, threads = in_child { [pool.stats, pool.call { Process.pid }, threads_of_pools.size] }
      expect(stats).to eq(running: 0, waiting: 0, done: 0)
      expect(value).not_to eq(Process.pid)
      expect(threads).to eq(1)
      gate << true
      holder.join
      expect(pool.stats).to eq(running: 0, waiting: 0, done: 2)
    end

    it "may be made while all threads are busy and callers wait" do
      single = Ruvoy::Offload.new(limit: 1)
      holder = hold(offload: single)
      waiting = Thread.new { single.call { :waited } }
      wait_until("it waits") { single.stats[:waiting] == 1 }
      values = in_child { Array.new(10) { |number| Thread.new { single.call { number } } }.map(&:value) }
      expect(values).to eq((0...10).to_a)
      gate << true
      holder.join
      expect(waiting.value).to eq(:waited)
    end

    it "of a closed pool is closed" do
      pool.close
      message = in_child do
        pool.call { 1 }
      rescue Ruvoy::Offload::ClosedError => e
        e.message
      end
      expect(message).to eq("this Offload is closed")
    end

    it "works with Ruvoy.offload" do
      Ruvoy.offload { nil }
      expect(in_child { Ruvoy.offload { Process.pid } }).not_to eq(Process.pid)
    end

    it "inside a block may use the pool" do
      value = pool.call { in_child { pool.call { 7 } } }
      expect(value).to eq(7)
    end

    it "inside a block that goes on in both ends the child after the block" do
      output, = run(<<~RUBY)
        Ruvoy.offload { puts(fork ? "parent" : "child") }
        Process.wait
        puts $?.exitstatus
      RUBY
      expect(output.lines.map(&:chomp)).to contain_exactly("parent", "child", "0")
    end
  end

  describe "the process's end" do
    it "does not wait for idle threads" do
      expect(run("Ruvoy.offload { 1 }; puts 'ended'")).to eq(["ended\n", 0])
    end

    it "does not wait for calls of other threads, or callers that wait" do
      output = run(<<~RUBY)
        pool = Ruvoy::Offload.new(limit: 1)
        Array.new(3) { Thread.new { pool.call { sleep } } }
        Thread.pass until pool.stats == { running: 1, waiting: 2, done: 0 }
        puts "ended"
      RUBY
      expect(output).to eq(["ended\n", 0])
    end

    it "comes with exit's status from inside a block" do
      expect(run("Ruvoy.offload { exit 7 }; puts 'not reached'")).to eq(["", 7])
    end

    it "may use a pool in at_exit" do
      expect(run("at_exit { puts Ruvoy.offload { 'ended' } }")).to eq(["ended\n", 0])
    end

    it "comes with Ruby's deadlock error when a block can never end" do
      output, status = run("Ruvoy.offload { Thread::Queue.new.pop }")
      expect(output).to include("No live threads left. Deadlock? (fatal)")
      expect(status).to eq(1)
    end
  end

  # Runs a script, which must end.
  # @return [Array(String, Integer)] its output and exit status
  def run(script)
    reader, writer = IO.pipe
    library = File.expand_path("../../../lib", __dir__)
    pid = Process.spawn(RbConfig.ruby, "-W0", "-I", library, "-r", "ruvoy", "-e", script, %i[out err] => writer)
    writer.close
    status = wait_until("the script ends") { Process.wait2(pid, Process::WNOHANG)&.last }
    [reader.read, status.exitstatus]
  rescue TimedOut
    Process.kill(:KILL, pid)
    Process.wait(pid)
    raise
  ensure
    reader.close
  end
end
