# frozen_string_literal: true

# How a block can end, and what its caller sees then.

require "spec_helper"
require "async"
require "ruvoy"
require "timeout"

RSpec.describe Ruvoy::Offload::Call do
  # One thread, so that a call that spoiled it would spoil the next.
  let(:pool) { Ruvoy::Offload.new(limit: 1) }

  after do
    expect(pool.call { :fine }).to eq(:fine)
    expect(pool.stats).to include(running: 0, waiting: 0)
  end

  def error_of
    yield
    raise "nothing was raised"
  rescue Exception => e # rubocop:disable Lint/RescueException -- whatever it is
    e
  end

  def lines_of(error) = error.backtrace.map { |line| line[/\A#{Regexp.escape(__FILE__)}:(\d+)/, 1].to_i }

  describe "values" do
    it "are the caller's own objects" do
      object = Object.new
      expect(pool.call { object }).to be(object)
    end

    it "may come by next" do
      expect(pool.call { next 5 }).to eq(5)
    end

    it "may come from a lambda's return, a method or a symbol's proc" do
      early = lambda do
        return 6 if pool

        7
      end
      expect([pool.call(&early), pool.call(&method(:answer))]).to eq([6, 42])
      expect { pool.call(&:upcase) }.to raise_error(ArgumentError, /no receiver/)
    end

    it "may be exceptions" do
      error = IOError.new
      expect(pool.call { error }).to be(error)
    end

    def answer = 42
  end

  describe "break and return" do
    it "raise LocalJumpError, and the caller goes on" do
      broken = error_of { pool.call { break 5 } }
      returned = error_of { leave }
      expect([broken, returned]).to all(be_a(LocalJumpError))
      expect([broken, returned].map(&:reason)).to eq(%i[break return])
    end

    def leave
      pool.call { return 5 }
    end
  end

  describe "throw" do
    it "reaches the caller's catch with its value" do
      value = catch(:done) do
        pool.call { throw :done, 7 }
        8
      end
      expect(value).to eq(7)
    end

    it "reaches a catch through nested pools" do
      other = Ruvoy::Offload.new(limit: 1)
      expect(catch(:done) { pool.call { other.call { throw :done, 7 } } }).to eq(7)
    end

    it "stays in the block where the block catches it" do
      expect(pool.call { catch(:done) { throw :done, 7 } }).to eq(7)
    end

    it "that nobody catches raises as it does elsewhere, from where it was thrown" do
      error = error_of { pool.call { throw :nowhere, 7 } }
      expect(error).to be_a(UncaughtThrowError).and have_attributes(tag: :nowhere, value: 7)
      expect(lines_of(error).first).to eq(__LINE__ - 2)
    end
  end

  describe "exceptions" do
    it "may be any, and the thread lives on" do
      thread = pool.call { Thread.current }
      [Exception, NoMemoryError, SecurityError, NotImplementedError, Interrupt, SystemStackError].each do |exception|
        expect { pool.call { raise exception, "the block's" } }.to raise_error(exception, "the block's")
      end
      expect(pool.call { Thread.current }).to be(thread)
    end

    it "may be a real stack overflow" do
      endless = ->(deeper) { deeper.call(deeper) + 1 }
      expect { pool.call { endless.call(endless) } }.to raise_error(SystemStackError)
    end

    it "leave the process as exit does in the caller" do
      expect { pool.call { exit(3) } }.to raise_error(SystemExit) { |error| expect(error.status).to eq(3) }
      expect { pool.call { abort } }.to raise_error(SystemExit) { |error| expect(error.status).to eq(1) }
    end

    it "have the block's frames first, then the caller's" do
      error = error_of do
        fail_deep
      end
      lines = lines_of(error).reject(&:zero?)
      expect(lines.first(4)).to eq([raising_line, raising_line + 3, raising_line + 3, __LINE__ - 3])
    end

    it "keep their cause" do
      error = error_of do
        pool.call do
          raise IOError, "first"
        rescue IOError
          raise KeyError, "second"
        end
      end
      expect(error.cause).to be_a(IOError).and have_attributes(message: "first")
    end

    it "get as their cause what the caller just rescues, as they would without offload" do
      error = begin
        raise KeyError, "the caller's"
      rescue KeyError
        error_of { pool.call { raise IOError, "the block's" } }
      end
      expect(error).to be_a(IOError).and have_attributes(cause: be_a(KeyError))
    end

    it "may be frozen" do
      error = IOError.new.freeze
      expect(error_of { pool.call { raise error } }).to be(error)
    end

    it "that are raised again and again do not grow" do
      error = IOError.new
      sizes = Array.new(10) { error_of { pool.call { raise error } }.backtrace.size }
      expect(sizes.uniq.size).to eq(1)
    end

    it "tell each hop through nested pools", :unchecked do
      other = Ruvoy::Offload.new(limit: 1)
      error = error_of do
        pool.call do
          other.call do
            raise IOError
          end
        end
      end
      expect(lines_of(error) & [__LINE__ - 4, __LINE__ - 5, __LINE__ - 6])
        .to eq([__LINE__ - 5, __LINE__ - 6, __LINE__ - 7])
    end

    it "keep backtrace_locations where Ruby lets them" do
      error = error_of { pool.call { raise IOError } }
      skip "Ruby before 3.4 drops them when a backtrace is changed" if RUBY_VERSION < "3.4"
      expect(error.backtrace_locations.map(&:to_s)).to eq(error.backtrace)
    end

    def raising_line = method(:raise_deep).source_location.last + 1

    def raise_deep
      raise IOError, "deep"
    end

    def fail_deep = pool.call { raise_deep }
  end

  describe "the end of the thread" do
    it "by the block raises in the caller" do
      [-> { Thread.exit }, -> { Thread.current.kill }].each do |kill|
        expect { pool.call(&kill) }.to raise_error(Ruvoy::Offload::KilledError, /killed before the call ended/)
      end
    end

    it "by somebody else raises in the caller" do
      running = Thread::Queue.new
      caller = Thread.new { error_of { pool.call { running.push(Thread.current) && sleep } } }
      running.pop.kill
      expect(caller.value).to be_a(Ruvoy::Offload::KilledError)
    end

    it "runs the block's ensure first" do
      log = Thread::Queue.new
      error = error_of do
        pool.call do
          Thread.exit
        ensure
          log << :ensure
        end
      end
      expect(error).to be_a(Ruvoy::Offload::KilledError)
      expect(log.pop).to eq(:ensure)
    end

    it "passes calls that wait to another thread, in order" do
      running = Thread::Queue.new
      order = Thread::Queue.new
      victim = Thread.new { error_of { pool.call { running.push(Thread.current) && sleep } } }
      thread = running.pop
      callers = Array.new(5) do |number|
        Thread.new { pool.call { order << number } }.tap { Thread.pass until pool.stats[:waiting] == number + 1 }
      end
      thread.kill
      expect(victim.value).to be_a(Ruvoy::Offload::KilledError)
      callers.each(&:join)
      expect(Array.new(5) { order.pop }).to eq([0, 1, 2, 3, 4])
    end
  end

  describe "the block's fiber" do
    it "cannot be left by Fiber.yield" do
      log = []
      error = error_of do
        pool.call do
          Fiber.yield
        ensure
          log << :ensure
        end
      end
      expect(error).to be_a(FiberError).and have_attributes(message: /cannot yield/)
      expect(lines_of(error).first).to eq(__LINE__ - 6)
      expect(log).to eq([:ensure])
    end

    it "may be killed, and then there is no value" do
      expect { pool.call { Fiber.current.kill } }.to raise_error(Ruvoy::Offload::KilledError)
    end

    it "may have enumerators and fibers of its own" do
      letters = pool.call do
        enumerator = Enumerator.new { |y| %w[a b].each { |letter| y << letter } }
        [enumerator.next, enumerator.next, Fiber.new { Fiber.yield("c") }.resume]
      end
      expect(letters).to eq(%w[a b c])
    end

    it "may have a reactor of its own, each time" do
      3.times do
        numbers = pool.call { Sync { |task| Array.new(3) { |n| task.async { sleep(0) && n } }.map(&:wait) } }
        expect(numbers).to eq([0, 1, 2])
        expect(pool.call { Fiber.scheduler }).to be_nil
      end
    end
  end

  it "can have a timeout inside the block, which cuts Ruby's own waiting short" do
    expect { pool.call { Timeout.timeout(0.001) { sleep } } }.to raise_error(Timeout::Error)
  end

  it "survives an exception that somebody raises in the thread after the block" do
    pool.call { nil }
    thread = pool.call { Thread.current.tap { |current| current.report_on_exception = false } }
    Thread.pass until thread.stop?
    thread.raise("late")
    expect { thread.join }.to raise_error("late")
  end
end
