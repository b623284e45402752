# frozen_string_literal: true

require "rack/lint"
require "support/served"

RSpec.describe Ruvoy::Adapter do
  include_context "with a server"

  let(:secret) { "s3cret" }

  # A body that counts how often it was closed.
  let(:closing) do
    Struct.new(:chunks, :closes) do
      def each(&) = chunks.each(&)

      def close = self.closes += 1
    end
  end

  def body(*chunks) = closing.new(chunks, 0)

  def expect_failure(request, reason)
    expect(request.status).to eq(500)
    expect(request.body).to eq("Internal Server Error\n")
    expect([request.header("x-ruvoy-error"), request.header("content-type"), request.header("content-length")])
      .to eq([reason, "text/plain", "22"])
    expect(request.calls).to eq([:respond])
    expect(request.fields.join).not_to include(secret)
  end

  describe "the environment" do
    it "holds what Rack and the specification name" do
      env = nil
      get { |given| [200, {}, [(env = given.dup) && ""]] }
      expect(env).to include("SCRIPT_NAME" => "", "SERVER_SOFTWARE" => "ruvoy/#{Ruvoy::VERSION}",
                             "rack.multithread" => true, "rack.multiprocess" => false, "rack.run_once" => false,
                             "rack.response_finished" => [])
      expect(env["rack.early_hints"]).to respond_to(:call)
      expect(env["rack.input"]).to respond_to(:read, :gets, :each, :rewind, :close)
    end

    it "passes Rack::Lint, and so does the response" do
      app = Rack::Lint.new(->(env) { [200, { "content-type" => "text/plain" }, [env["rack.input"].read]] })
      request = get(method: "POST", body: "abc") { |env| app.call(env) }
      expect([request.status, request.body, log_text]).to eq([200, "abc", ""])
    end

    it "is fresh for each request" do
      serve do |env|
        seen = env.key?("mine")
        env["mine"] = env["rack.response_finished"] << ->(*) {}
        env["SCRIPT_NAME"] = "/changed"
        env.freeze
        [200, {}, ["#{seen} #{env["rack.response_finished"].size}"]]
      end
      expect(Array.new(2) { native.request.wait.body }).to eq(["false 1", "false 1"])
      expect(native.template).to be_frozen
    end

    it "has rack.errors that write to standard error" do
      get do |env|
        env["rack.errors"].puts("a line")
        env["rack.errors"].write("some", " more")
        env["rack.errors"].flush << "\n"
        [200, {}, []]
      end
      expect(stderr.string).to eq("a line\nsome more\n")
    end
  end

  describe "the triplet" do
    it "converts the status" do
      serve { |env| [env["PATH_INFO"].delete_prefix("/"), {}, []] }
      expect(native.request(path: "/201").wait.status).to eq(201)
      expect(native.request(path: "/599").wait.status).to eq(599)
    end

    it "refuses other statuses" do
      statuses = [nil, "x", 99, 600, -1, Object.new, 100, 103, 199]
      serve { |_env| [statuses.first, {}, ["x"]] }
      until statuses.empty?
        expect_failure(native.request.wait, "contract")
        statuses.shift
      end
    end

    it "refuses what is no triplet" do
      responses = [nil, [], [200, {}], [200, {}, [], 1], "200", { a: 1 }, 200]
      serve { |_env| responses.first }
      until responses.empty?
        expect_failure(native.request.wait, "contract")
        responses.shift
      end
      expect(log_text).to include("a response is an Array, not NilClass", "a response has three elements, not 4")
    end

    it "refuses invalid headers with nothing of them sent, and closes the body" do
      bad = [{ "a" => "b\r\nset-cookie: #{secret}" }, { "a b" => "c" }, nil, { "content-length" => "x" }]
      bodies = []
      serve { |_env| [200, bad.first, body("x").tap { |one| bodies << one }] }
      until bad.empty?
        expect_failure(native.request.wait, "contract")
        bad.shift
      end
      expect(bodies.map(&:closes)).to eq([1, 1, 1, 1])
    end
  end

  describe "a failing application" do
    failures = {
      "StandardError" => -> { raise "s3cret" },
      "Exception" => -> { raise Exception, "s3cret" }, # rubocop:disable Lint/RaiseException
      "NoMemoryError" => -> { raise NoMemoryError, "s3cret" },
      "SystemExit" => -> { exit(1) },
      "abort" => -> { abort("s3cret") },
      "Interrupt" => -> { raise Interrupt, "s3cret" },
      "SignalException" => -> { raise SignalException, "SIGTERM" },
      "ScriptError" => -> { raise NotImplementedError, "s3cret" },
      "SystemStackError" => -> { (deep = ->(n) { 1 + deep.call(n + 1) }).call(0) },
      "throw" => -> { throw :s3cret },
      "Fiber.yield" => -> { Fiber.yield },
      "a dead fiber" => -> { Fiber.new { nil }.tap(&:resume).resume },
      "Async::Stop" => -> { raise Async::Stop, "s3cret" },
      "stopping its own task" => -> { Async::Task.current.stop },
      "a timeout" => -> { Async::Task.current.with_timeout(0.001) { sleep } },
      "a failed child" => -> { Async { raise "s3cret" }.wait }
    }

    failures.each do |name, failure|
      it "answers 500 to #{name}, and serves on" do
        serve do |env|
          failure.call if env["PATH_INFO"] == "/fail"
          [200, {}, ["fine"]]
        end
        expect_failure(native.request(path: "/fail").wait, "application")
        expect(native.request.wait.body).to eq("fine")
        expect(native.logs.size).to eq(1)
        expect(native.logs.first).to match([4, a_string_starting_with("GET /fail: the application failed: ")])
      end
    end

    it "reports class, message, backtrace and cause, once, to rack.errors and Envoy's log" do
      get do |_env|
        raise KeyError, "inner"
      rescue KeyError
        raise ArgumentError, "outer"
      end
      expect(native.logs.map(&:first)).to eq([4])
      [stderr.string, log_text].each do |text|
        expect(text).to include("outer (ArgumentError)", "inner (KeyError)", "#{__FILE__}:")
        expect(text.scan("outer (ArgumentError)").size).to eq(1)
      end
    end

    it "survives an exception whose message raises, and a rack.errors that raises" do
      hostile = Class.new(StandardError) { def message = raise("no message") }
      serve do |env|
        env["rack.errors"] = nil.method(:to_s) if env["PATH_INFO"] == "/errors"
        raise hostile
      end
      expect_failure(native.request.wait, "application")
      expect_failure(native.request(path: "/errors").wait, "application")
      expect(native.logs.size).to be >= 2
    end

    it "survives a fiber that is killed: 500, or a reset if the head is out" do
      serve do |env|
        kill = ->(chunk) { chunk == "kill" ? Fiber.current.kill : chunk }
        env["PATH_INFO"] == "/app" ? kill.call("kill") : [200, {}, %w[a kill].each.lazy.map(&kill)]
      end
      expect_failure(native.request(path: "/app").wait, "application")
      expect(native.request(path: "/body").wait).to be_reset
      expect(native.inflight).to eq(0)
    end

    it "survives children that end with SystemExit" do
      serve do |env|
        Async { exit(1) } if env["PATH_INFO"] == "/exit"
        [200, {}, ["fine"]]
      end
      expect(native.request(path: "/exit").wait.body).to eq("fine")
      expect(native.request.wait.body).to eq("fine")
      expect(log_text).to include("a fiber of the application ended with an exception: ", "SystemExit")
    end

    it "sends no body with the 500 to HEAD" do
      request = get(method: "HEAD") { |_env| raise secret }
      expect([request.status, request.body, request.header("content-length")]).to eq([500, "", "22"])
    end
  end

  describe "early hints" do
    it "sends 103 before the response" do
      request = get do |env|
        env["rack.early_hints"].call({ "Link" => "<a>\n<b>", "connection" => "close" })
        [200, {}, ["ok"]]
      end
      expect([request.hints, request.status, request.body]).to eq([[%w[link <a> link <b>]], 200, "ok"])
    end

    it "is ignored for HTTP/1.0 and once the head is out" do
      hint = ->(env) { env["rack.early_hints"].call({ "link" => "<a>" }) }
      serve do |env|
        hint.call(env) if env["PATH_INFO"] == "/1.0"
        [200, {}, Enumerator.new { |chunks| chunks << hint.call(env).inspect }]
      end
      expect(native.request(path: "/1.0", version: "HTTP/1.0").wait.hints).to eq([])
      late = native.request.wait
      expect([late.hints, late.body]).to eq([[], "nil"])
    end

    it "raises where the application gives invalid ones" do
      request = get do |env|
        env["rack.early_hints"].call({ "link" => "a\r\nb" })
      rescue Ruvoy::ContractError => e
        [200, {}, [e.message]]
      end
      expect([request.hints, request.body]).to match([[], /value of link/])
    end
  end

  describe "closing the body" do
    it "happens once after each kind of end" do
      bodies = Hash.new { |all, key| all[key] = body("x") }
      serve do |env|
        path = env["PATH_INFO"]
        bodies[path].chunks = [1] if path == "/bad"
        bodies[path].chunks = Enumerator.new { raise secret } if path == "/raise"
        [path == "/204" ? 204 : 200, {}, bodies[path]]
      end
      paths = %w[/ok /204 /bad /raise]
      paths.each { |path| native.request(path:).wait }
      native.request(path: "/head", method: "HEAD").wait
      expect(bodies.transform_values(&:closes)).to eq([*paths, "/head"].to_h { |path| [path, 1] })
    end

    it "is left to to_ary, as Rack has it" do
      array_like = Class.new(closing) do
        def to_ary
          close
          chunks
        end
      end
      one = array_like.new(%w[a b], 0)
      request = get { |_env| [200, {}, one] }
      expect([request.body, one.closes]).to eq(["ab", 1])
    end

    it "may raise without harm" do
      bad = Class.new(Array) { def close = raise("closing") }
      request = get { |_env| [200, {}, bad.new(["ok"])] }
      expect([request.body, request.releases, log_text]).to match(["ok", 1, /closing the body failed/])
    end

    it "happens when the client leaves while the body waits, with ensure blocks run" do
      order = []
      slow = Enumerator.new do |chunks|
        chunks << "first"
        sleep
      ensure
        order << :ensured
      end
      one = closing.new(slow, 0)
      serve { |_env| [200, {}, one] }
      request = native.request
      request.wait_until("the first chunk") { request.body == "first" }
      request.cancel
      request.wait
      expect([order, one.closes, request.releases, log_text]).to eq([[:ensured], 1, 1, ""])
    end
  end

  describe "rack.response_finished" do
    it "runs the callbacks in reverse, each isolated, after the response" do
      seen = []
      headers = { "a" => "b" }
      request = get do |env|
        env["rack.response_finished"] << ->(*given) { seen << given } << ->(*) { raise secret } << lambda { |*|
          seen << :last
        }
        [201, headers, ["ok"]]
      end
      expect(seen).to match([:last, [a_hash_including("PATH_INFO" => "/"), 201, equal(headers), nil]])
      expect(request.body).to eq("ok")
      expect(log_text).to include("a rack.response_finished callback failed", secret)
    end

    it "gives them the application's error, and nil for status and headers if there are none" do
      seen = nil
      get do |env|
        env["rack.response_finished"] << ->(_env, *given) { seen = given }
        raise KeyError, secret
      end
      expect(seen).to match([nil, nil, an_instance_of(KeyError)])
    end

    it "gives them the body's error with status and headers" do
      seen = nil
      get do |env|
        env["rack.response_finished"] << ->(_env, *given) { seen = given }
        [200, {}, Enumerator.new { raise KeyError, secret }]
      end
      expect(seen).to match([200, {}, an_instance_of(KeyError)])
    end

    it "gives them a ClientDisconnected if the client left" do
      seen = nil
      serve do |env|
        env["rack.response_finished"] << ->(_env, *given) { seen = given }
        env["rack.input"].read
      end
      request = native.request(method: "POST", body: :open)
      request.send_body("x")
      request.cancel
      request.wait
      expect(seen).to match([nil, nil, an_instance_of(Ruvoy::ClientDisconnected)])
    end

    it "lets them wait, and is not interrupted by a client that leaves meanwhile" do
      gate = Thread::Queue.new
      done = false
      serve do |env|
        env["rack.response_finished"] << lambda do |*|
          gate.pop
          done = true
        end
        [200, {}, ["ok"]]
      end
      request = native.request
      request.wait_until("the response") { request.complete? }
      request.cancel
      gate.push(:go)
      request.wait
      expect(done).to be(true)
    end

    it "survives an application that replaced the Array" do
      request = get do |env|
        env["rack.response_finished"] = "nothing to call"
        [200, {}, ["ok"]]
      end
      expect([request.body, request.releases]).to eq(["ok", 1])
    end
  end

  describe "a client that leaves" do
    it "interrupts the application at once" do
      order = []
      serve do |_env|
        sleep
      ensure
        order << :ensured
      end
      request = native.request
      native.wait_until("the request to run") { request.releases.zero? && native.instance_variable_get(:@queue).empty? }
      request.cancel
      request.wait
      expect([order, request.calls - [:reset], log_text]).to eq([[:ensured], [], ""])
    end

    it "may be ignored by the application, without harm" do
      serve do |env|
        sleep if env["PATH_INFO"] == "/stubborn"
        [200, {}, ["fine"]]
      rescue Async::Stop
        [200, {}, ["nobody reads this"]]
      end
      request = native.request(path: "/stubborn")
      request.cancel
      request.wait
      expect(native.request.wait.body).to eq("fine")
      expect(log_text).to eq("")
    end

    it "lets ensure blocks wait" do
      gate = Thread::Queue.new
      waited = nil
      serve do |_env|
        sleep
      ensure
        waited = gate.pop
      end
      request = native.request
      request.cancel
      gate.push(:waited)
      request.wait
      expect(waited).to eq(:waited)
    end

    it "stops the request's children" do
      ended = []
      serve do |_env|
        child = Async do
          sleep
        ensure
          ended << :child
        end
        child.wait
      end
      request = native.request
      request.cancel
      request.wait
      stop_server
      expect(ended).to eq([:child])
    end

    it "waits for what defers it" do
      gate = Thread::Queue.new
      result = nil
      serve do |_env|
        Async::Task.current.defer_stop { result = gate.pop }
        sleep
      end
      request = native.request
      request.cancel
      gate.push(:whole)
      request.wait
      expect([result, request.releases]).to eq([:whole, 1])
    end

    it "reports what the application raises while it is interrupted" do
      serve do |_env|
        sleep
      ensure
        raise KeyError, "while unwinding"
      end
      request = native.request
      request.cancel
      request.wait
      expect(log_text).to include("the application failed while it was interrupted", "while unwinding")
    end
  end
end
