# frozen_string_literal: true

require "tempfile"
require "support/served"

RSpec.describe Ruvoy::Server do
  include_context "with a server"

  def rackup(content)
    Tempfile.create(["ruvoy-spec", ".ru"]) do |file|
      file.write(content)
      file.flush
      yield file.path
    end
  end

  def boot(content) = rackup(content) { |path| described_class.boot(native, path) }

  describe ".boot" do
    it "loads the rackup, and gives Rust the template" do
      server = boot("run ->(_env) { [200, {}, ['from a rackup']] }")
      @thread = Thread.new { server.run }
      expect(native.request.wait.body).to eq("from a rackup")
      expect(native.template).to include("SERVER_SOFTWARE")
    end

    it "raises what is wrong with it" do
      expect { described_class.boot(native, "/nowhere/config.ru") }.to raise_error(Errno::ENOENT)
      expect { boot("raise KeyError, 'mine'") }.to raise_error(KeyError, "mine")
      expect { boot("run (") }.to raise_error(SyntaxError)
      expect { boot("exit 3") }.to raise_error(SystemExit)
      expect { boot("require 'no/such/file'") }.to raise_error(LoadError)
      expect { boot("use Rack::Head") }.to raise_error(RuntimeError, /run or map/)
    end

    it "takes a rackup of any name" do
      Tempfile.create("rackup-without-extension") do |file|
        file.write("run ->(_env) { [200, {}, []] }")
        file.flush
        expect(described_class.boot(native, file.path)).to be_a(described_class)
      end
    end

    it "does not change the directory" do
      before = Dir.pwd
      boot("run ->(_env) { }")
      expect(Dir.pwd).to eq(before)
    end
  end

  describe "a request's task" do
    it "is an Async task of its own, in a fiber that does not block" do
      request = get do |_env|
        task = Async::Task.current
        [200, {}, [[task.class, task.parent.class, Fiber.current.blocking?, Fiber.scheduler.class].inspect]]
      end
      expect(request.body).to eq([Async::Task, Ruvoy::Scheduler, false, Ruvoy::Scheduler].inspect)
    end

    it "can sleep, time out and have children while others are served" do
      serve do |env|
        next [200, {}, ["quick"]] if env["PATH_INFO"] == "/quick"

        children = Array.new(3) { |n| Async { sleep(0.01) && n } }
        timeout = Async::Task.current.with_timeout(0.001) { sleep } rescue $ERROR_INFO # rubocop:disable Style/RescueModifier
        [200, {}, [children.map(&:wait).join, timeout.class.to_s]]
      end
      slow = native.request
      expect(native.request(path: "/quick").wait.body).to eq("quick")
      expect(slow.wait.body).to eq("012Async::TimeoutError")
    end

    it "is over when the application has answered, while its children run on" do
      gate = Thread::Queue.new
      ended = Thread::Queue.new
      request = get do |_env|
        Async { ended << gate.pop }
        [200, {}, ["answered"]]
      end
      expect([request.body, native.inflight]).to eq(["answered", 0])
      gate << :child
      expect(ended.pop(timeout: 5)).to eq(:child)
    end

    it "has fresh fiber storage, with nothing of the rackup's or another request's" do
      server = boot(<<~RUBY)
        Fiber[:rackup] = Fiber[:mine] = "leaked"
        run(lambda do |_env|
          seen = [Fiber[:rackup], Fiber[:mine], Thread.current[:mine]]
          Fiber[:mine] = Thread.current[:mine] = "leaked"
          [200, {}, [seen.inspect, Fiber.new { Fiber[:mine] }.resume]]
        end)
      RUBY
      @thread = Thread.new do
        Fiber[:rackup] = "leaked"
        server.run
      end
      expect(Array.new(3) { native.request.wait.body }).to eq(["[nil, nil, nil]leaked"] * 3)
    end

    it "is resumed by other threads" do
      request = get { |_env| [200, {}, [Thread.new { "from a thread" }.value]] }
      expect(request.body).to eq("from a thread")
    end
  end

  describe "the loop" do
    it "serves many requests at once, and counts each out once" do
      serve { |env| sleep(0.001) && [200, {}, [env["PATH_INFO"]]] }
      requests = Array.new(300) { |n| native.request(path: "/#{n}") }
      requests.each(&:wait)
      expect(requests.map(&:body)).to eq(Array.new(300) { |n| "/#{n}" })
      expect(requests.map(&:releases)).to all(eq(1))
      expect(native.inflight).to eq(0)
    end

    it "gives other fibers their turn while requests never cease" do
      done = Thread::Queue.new
      native.define_singleton_method(:next_event) { super().tap { |event| request if event.nil? && done.empty? } }
      serve do |env|
        next [200, {}, []] if env["PATH_INFO"] == "/"

        sleep(0.001)
        done << true
        [200, {}, ["had its turn"]]
      end
      expect(native.request(path: "/slow").wait.body).to eq("had its turn")
    end

    it "sleeps until it is signalled" do
      serve { |_env| [200, {}, []] }
      native.request.wait
      native.wait_until("the loop to be idle") { native.instance_variable_get(:@armed) }
      native.request.wait
      expect(native.wakeups).to be >= 1
    end

    it "does not turn while there is nothing to do, after it was signalled too" do
      serve { |_env| [200, {}, []] }
      2.times do
        native.request.wait
        native.wait_until("the loop to be idle") { native.instance_variable_get(:@armed) }
      end
      expect { sleep(0.05) }.to change(native, :takes).by_at_most(2)
    end

    it "ignores events of requests that are over" do
      serve { |_env| [200, {}, ["ok"]] }
      request = native.request.wait
      request.send_body("late")
      request.cancel
      expect(native.request.wait.body).to eq("ok")
      expect(log_text).to eq("")
    end

    it "answers and counts out a request that it cannot start a fiber for" do
      serve { |_env| [200, {}, ["ok"]] }
      expect(native.request.wait.body).to eq("ok")
      allow(Fiber).to receive(:new).once.and_raise(FiberError, "can't alloc machine stack to fiber")
      failed = native.request.wait
      expect([failed.status, failed.releases]).to eq([500, 1])
      expect(log_text).to include("a request could not be started", "FiberError")
      allow(Fiber).to receive(:new).and_call_original
      expect(native.request.wait.body).to eq("ok")
    end

    it "dies of its own failure, and leaves the requests in flight to Rust" do
      ensured = false
      serve do |env|
        env["PATH_INFO"] == "/ruin" ? Fiber.scheduler.instance_variable_get(:@selector).close : sleep
      ensure
        ensured = true if env["PATH_INFO"] == "/"
      end
      requests = [native.request, native.request(path: "/ruin")]
      expect { @thread.join(10) }.to raise_error(StandardError)
      @thread = nil
      expect([requests.first.calls, ensured]).to eq([[], false])
    end

    it "survives any number of fibers that die at once" do
      serve do |env|
        next [200, {}, ["alive"]] if env["PATH_INFO"] == "/"

        50.times { Async { sleep(0.001) && exit(1) } }
        50.times { Async { exit(1) } }
        [200, {}, []]
      end
      Array.new(3) { native.request(path: "/exits") }.each(&:wait)
      native.wait_until("all to die") { native.logs.size == 300 }
      expect(native.request.wait.body).to eq("alive")
    end

    it "survives what another thread raises in it" do
      serve do |_env|
        owner = Thread.current
        Thread.new { owner.raise(NoMemoryError, "struck") }.join
        [200, {}, ["alive"]]
      end
      3.times { expect(native.request.wait.status).to eq(200).or eq(500) }
    end
  end

  describe "stopping" do
    it "waits for the requests in flight" do
      gate = Thread::Queue.new
      serve { |_env| [200, {}, [gate.pop]] }
      request = native.request
      native.stop
      gate << "finished"
      expect(@thread.join(10).value).to be_nil
      @thread = nil
      expect(request.body).to eq("finished")
    end

    it "ends at once when those are cancelled" do
      serve { |_env| sleep }
      requests = Array.new(20) { native.request }
      native.stop
      requests.each(&:cancel)
      expect(@thread.join(10)).to be(@thread)
      @thread = nil
      expect(requests.map(&:releases)).to all(eq(1))
    end

    it "stops what the application left running, and gives up on what does not stop" do
      ensured = false
      get do |_env|
        Async do
          sleep
        ensure
          ensured = true
        end
        Async do
          sleep
        rescue Async::Stop
          retry
        end
        [200, {}, []]
      end
      started = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      stop_server
      expect(ensured).to be(true)
      expect(Process.clock_gettime(Process::CLOCK_MONOTONIC) - started).to be < 5
    end
  end

  describe "the cost of a request" do
    def allocated(count)
      before = GC.stat(:total_allocated_objects)
      count.times { yield }
      (GC.stat(:total_allocated_objects) - before).fdiv(count)
    end

    it "is a bounded number of Ruby objects, the fiber and its Async task included", :unchecked do
      quiet = Class.new do
        attr_accessor :template

        def initialize(env) = @env = env
        def buffer_bytes = 1024
        def env(_id) = @env
        def respond(*) = nil
        def release(_id) = nil
        def wakeup_fd = 0
      end.new({ "REQUEST_METHOD" => "GET" })
      response = [200, { "content-type" => "text/plain" }.freeze, ["ok"].freeze].freeze
      objects = Thread.new do
        server = described_class.new(quiet, ->(_env) { response })
        server.send(:open)
        allocated(50) { server.send(:start, 1, 1) }
        allocated(200) { server.send(:start, 1, 1) }.tap { server.send(:close) }
      end.value
      expect(objects).to be <= 22
    end
  end
end
