# frozen_string_literal: true

require "tempfile"
require "support/served"

RSpec.describe Ruvoy::Body do
  include_context "with a server"

  def respond(status, headers, body, **request) = get(**request) { |_env| [status, headers, body] }

  def expect_contract_error(request, message)
    expect([request.status, request.header("x-ruvoy-error"), request.calls]).to eq([500, "contract", [:respond]])
    expect(log_text).to match(message)
  end

  def expect_reset(request, message)
    expect(request.calls).to eq(%i[start reset])
    expect(log_text).to match(message)
  end

  def each_body(*chunks) = Enumerator.new { |all| chunks.each { |chunk| all << chunk } }

  def file(content)
    Tempfile.create("ruvoy-spec", binmode: true) do |file|
      file.write(content)
      file.flush
      yield file.path
    end
  end

  def path_body(path) = Struct.new(:to_path).new(path)

  describe "an Array" do
    it "crosses in one message, with its content-length" do
      request = respond(200, { "a" => "b" }, %w[ab cd])
      expect([request.calls, request.body, request.fields]).to eq([[:respond], "abcd", %w[a b content-length 4]])
    end

    it "may be empty" do
      request = respond(200, {}, [])
      expect([request.calls, request.body, request.header("content-length")]).to eq([[:respond], "", "0"])
    end

    it "may mix encodings and be frozen" do
      request = respond(200, {}, ["ü", "\xFF".b, "x".encode("UTF-16LE")].each(&:freeze).freeze)
      expect(request.body).to eq("ü".b + "\xFF".b + "x\0".b)
    end

    it "may say its own right content-length" do
      expect(respond(200, { "Content-Length" => 4 }, %w[ab cd]).fields).to eq(%w[content-length 4])
    end

    it "is refused before the head if its content-length is too short" do
      expect_contract_error(respond(200, { "content-length" => "3" }, %w[ab cd]),
                            /content-length is 3, but the body has 4/)
    end

    it "is refused before the head if its content-length is too long" do
      expect_contract_error(respond(200, { "content-length" => "5" }, %w[ab cd]),
                            /content-length is 5, but the body has 4/)
    end

    it "is refused if it holds anything but Strings" do
      expect_contract_error(respond(200, {}, ["a", 1]), /consists of Strings, not of Integer/)
    end

    it "may hold nil, which is nothing" do
      request = respond(200, {}, ["a", nil].freeze)
      expect([request.body, request.fields]).to eq(["a", %w[content-length 1]])
    end

    it "is what to_ary returns" do
      request = respond(200, {}, Struct.new(:to_ary).new(%w[a b]))
      expect([request.calls, request.body]).to eq([[:respond], "ab"])
    end

    it "is not what to_ary returns if that is nil" do
      both = Class.new do
        def to_ary = nil

        def each = yield("x")
      end.new
      expect(respond(200, {}, both).body).to eq("x")
    end

    context "with more bytes than the buffer" do
      let(:buffer_bytes) { 10 }

      it "crosses in pieces, with its content-length" do
        request = respond(200, {}, %w[abcdef ghijkl])
        expect([request.calls, request.body,
                request.header("content-length")]).to eq([%i[start finish], "abcdefghijkl", "12"])
      end
    end
  end

  describe "an enumerable" do
    it "crosses as it is yielded" do
      gate = Thread::Queue.new
      gated = Enumerator.new do |chunks|
        chunks << "first"
        chunks << gate.pop
      end
      serve { |_env| [200, {}, gated] }
      request = native.request
      request.wait_until("the first chunk") { request.body == "first" }
      gate.push("second")
      expect([request.wait.body, request.calls, request.fields]).to eq(["firstsecond", %i[start finish], []])
    end

    it "may be empty, and yield empty Strings" do
      expect(respond(200, {}, each_body).calls).to eq(%i[start finish])
      expect(respond(200, {}, each_body("", "a", "")).body).to eq("a")
    end

    it "goes before call" do
      both = Class.new do
        def each = yield("each")

        def call(*) = raise("called")
      end.new
      expect(respond(200, {}, both).body).to eq("each")
    end

    it "waits for a slow client" do
      serve { |_env| [200, {}, each_body("a" * 100_000, "b")] }
      request = native.request
      request.room = 10
      request.wait_until("the room to be filled") { request.body.bytesize == 10 }
      request.room = 99_991
      expect(request.wait.body).to eq("#{"a" * 100_000}b")
    end

    it "resets the stream if it raises, with nothing that looks like an end" do
      request = respond(200, {}, Enumerator.new { |chunks| chunks << "some" and raise "midway" })
      expect_reset(request, /the application failed.*midway/)
      expect(request.body).to eq("some")
    end

    it "resets the stream if it yields anything but a String" do
      expect_reset(respond(200, {}, each_body("a", 1)), /consists of Strings, not of Integer/)
    end

    it "resets the stream if it is shorter than its content-length" do
      expect_reset(respond(200, { "content-length" => "5" }, each_body("ab")), /ended after 2 of 5 bytes/)
    end

    it "resets the stream if it is longer than its content-length, with no byte beyond" do
      request = respond(200, { "content-length" => "3" }, each_body("ab", "cd"))
      expect_reset(request, /longer than its content-length of 3/)
      expect(request.body).to eq("ab")
    end

    it "keeps a content-length that is right" do
      request = respond(200, { "content-length" => "4" }, each_body("ab", "cd", ""))
      expect([request.calls, request.fields, request.body]).to eq([%i[start finish], %w[content-length 4], "abcd"])
    end
  end

  describe "a file" do
    it "crosses without Ruby reading it, with its size" do
      file("x" * 200_000) do |path|
        request = respond(200, {}, path_body(path))
        expect([request.calls, request.body,
                request.header("content-length")]).to eq([%i[start finish], "x" * 200_000, "200000"])
      end
    end

    it "waits for a slow client" do
      file("x" * 100) do |path|
        serve { |_env| [200, {}, path_body(path)] }
        request = native.request
        request.room = 10
        request.wait_until("the room to be filled") { request.body.bytesize == 10 }
        request.room = 90
        expect(request.wait.body.bytesize).to eq(100)
      end
    end

    it "may be empty" do
      file("") { |path| expect(respond(200, {}, path_body(path)).header("content-length")).to eq("0") }
    end

    it "is sent up to the content-length: it may have grown meanwhile" do
      file("abcdef") { |path| expect(respond(200, { "content-length" => "4" }, path_body(path)).body).to eq("abcd") }
    end

    it "is refused before the head if it is shorter than the content-length" do
      file("ab") do |path|
        expect_contract_error(respond(200, { "content-length" => "4" }, path_body(path)), /has 2 bytes/)
      end
    end

    it "is a 500 before the head if it is missing" do
      request = respond(200, {}, path_body("/nowhere/to/be/found"))
      expect([request.status, request.header("x-ruvoy-error"), request.calls]).to eq([500, "application", [:respond]])
    end

    it "resets the stream if it becomes shorter while it is sent" do
      file("x" * 100) do |path|
        serve { |_env| [200, {}, path_body(path)] }
        request = native.request
        request.room = 10
        request.wait_until("the room to be filled") { request.body.bytesize == 10 }
        File.truncate(path, 5)
        request.room = 90
        request.wait
        expect_reset(request, /the file ended after 10 of 100 bytes/)
      end
    end

    it "is left to each where only that can read it" do
      [nil, "/dev/null", Dir.tmpdir].each do |path|
        body = Class.new { define_method(:to_path) { path } and def each = yield("by each") }.new
        expect(respond(200, {}, body).body).to eq("by each")
      end
    end

    it "is closed afterwards" do
      file("abc") do |path|
        serve { |_env| [200, {}, path_body(path)] }
        5.times { native.request.wait }
        # The one of this example itself.
        expect(Dir["/proc/self/fd/*"].count { |fd| File.symlink?(fd) && File.readlink(fd) == path }).to eq(1)
      end
    end
  end

  describe "a response without a body" do
    it "keeps what HEAD says of the content-length" do
      request = respond(200, { "content-length" => "1234" }, [], method: "HEAD")
      expect([request.calls, request.body, request.fields]).to eq([[:respond], "", %w[content-length 1234]])
    end

    it "says for HEAD what an Array says of itself, unless it is empty" do
      serve { |env| [200, {}, env["PATH_INFO"] == "/empty" ? [] : ["ab", nil, "c"]] }
      expect(native.request(method: "HEAD").wait.fields).to eq(%w[content-length 3])
      expect(native.request(method: "HEAD", path: "/empty").wait.fields).to eq([])
    end

    it "says for HEAD what a file says of itself" do
      file("abc") do |path|
        expect(respond(200, {}, path_body(path), method: "HEAD").fields).to eq(%w[content-length 3])
      end
    end

    it "is what HEAD means even if the application changes its env" do
      request = get(method: "HEAD") do |env|
        env["REQUEST_METHOD"] = "GET"
        [200, {}, ["x"]]
      end
      expect(request.body).to eq("")
    end

    it "is sent for 204 and 304, whatever body there was" do
      [each_body("x"), ["x"], ->(stream) { stream.write("x") }, nil].product([204, 304]).each do |body, status|
        request = respond(status, { "etag" => "a" }, body)
        expect([request.calls, request.status, request.body,
                request.fields]).to eq([[:respond], status, "", %w[etag a]])
      end
    end

    it "keeps the content-length of a 304, and has none with a 204" do
      expect(respond(304, { "content-length" => "5" }, []).fields).to eq(%w[content-length 5])
      serve { [204, { "content-length" => "5" }, []] }
      expect(native.request.wait.fields).to eq([])
    end
  end

  it "refuses a body with neither each nor call" do
    expect_contract_error(respond(200, {}, Object.new), /a body responds to each or call, Object does not/)
  end

  it "refuses a nil body and a String" do
    expect_contract_error(respond(200, {}, nil), /NilClass does not/)
    serve { [200, {}, "text"] }
    expect_contract_error(native.request.wait, /String does not/)
  end

  it "refuses 101 and other 1xx that nobody asked for" do
    expect_contract_error(respond(101, {}, lambda(&:close)), /101 without rack.protocol/)
    serve { [101, { "rack.protocol" => "websocket" }, lambda(&:close)] }
    expect_contract_error(native.request.wait, /did not offer the protocol "websocket"/)
  end

  describe "trailers" do
    it "are sent after the body, checked and flattened" do
      request = get do |env|
        [200, {}, Enumerator.new do |chunks|
          chunks << "x" and env["ruvoy.trailers"] = { "Grpc-Status" => 0, "te" => "x" }
        end]
      end
      expect([request.calls, request.trailers]).to eq([%i[start finish], %w[grpc-status 0]])
    end

    it "follow an Array too" do
      request = get { |env| (env["ruvoy.trailers"] = { "a" => %w[1 2] }) && [200, {}, ["x"]] }
      expect([request.body, request.trailers, request.header("content-length")]).to eq(["x", %w[a 1 a 2], "1"])
    end

    it "reset the stream if they are invalid" do
      expect_reset(get { |env| (env["ruvoy.trailers"] = { "a" => "\r" }) && [200, {}, ["x"]] }, /value of a contains/)
    end
  end

  describe "a streaming body" do
    def streaming(headers = {}, **request, &block) = respond(200, headers, block, **request)

    it "writes as the stream does" do
      request = streaming do |stream|
        stream << "a" << :b
        stream.write("c", 1, "d").then { |bytes| stream << bytes.to_s }
        stream.flush.write("e")
        stream.close
      end
      expect([request.body, request.calls]).to eq(["abc1d3e", %i[start finish]])
    end

    it "reads as the stream does" do
      request = streaming(method: "POST", body: "abc\ndefghi") do |stream|
        buffer = +""
        read = [stream.read(1), stream.read(2, buffer).equal?(buffer), buffer, stream.read(0), stream.gets,
                stream.readpartial(1), stream.read_partial(2), stream.read, stream.read, stream.read(1)]
        stream.write(read.inspect)
        stream.close
      end
      expect(request.body).to eq(["a", true, "bc", "", "\n", "d", "ef", "ghi", "", nil].inspect)
    end

    it "reads nothing if there is no request body" do
      request = streaming { |stream| stream.write([stream.read, stream.read(1), stream.read_partial].inspect) }
      expect(request.body).to eq(["", nil, nil].inspect)
    end

    it "closes each direction for itself" do
      states = []
      request = streaming(method: "POST", body: "abc") do |stream|
        states << stream.closed?
        stream.close_read
        states << (stream.read rescue $ERROR_INFO.class) << stream.closed? # rubocop:disable Style/RescueModifier
        stream.write("still writing")
        stream.close_write
        states << (stream.write("x") rescue $ERROR_INFO.class) << stream.closed? # rubocop:disable Style/RescueModifier
        stream.close
        stream.close
      end
      expect(states).to eq([false, IOError, false, IOError, true])
      expect([request.body, request.calls]).to eq(["still writing", %i[start finish]])
    end

    it "may read on after it has ended its response" do
      rest = nil
      serve do |_env|
        [200, {}, lambda do |stream|
          stream.write("done")
          stream.close_write
          rest = stream.read
        end]
      end
      request = native.request(method: "POST", body: :open)
      request.wait_until("the end of the response") { request.complete? }
      request.send_body("late")
      request.end_body
      request.wait
      expect(rest).to eq("late")
    end

    it "is full duplex" do
      serve do |_env|
        [200, {}, lambda do |stream|
          while (bytes = stream.read_partial)
            stream.write("<#{bytes}>")
          end
          stream.close
        end]
      end
      request = native.request(method: "POST", body: :open)
      %w[one two three].each do |word|
        request.send_body(word)
        request.wait_until("the echo of #{word}") { request.body.end_with?("<#{word}>") }
      end
      request.end_body
      expect(request.wait.calls).to eq(%i[start finish])
    end

    it "reads on where the application has stopped reading rack.input" do
      request = get(method: "POST", body: "line\nrest") do |env|
        line = env["rack.input"].gets
        [200, {}, ->(stream) { stream.write([line, stream.read].inspect) }]
      end
      expect(request.body).to eq(["line\n", "rest"].inspect)
    end

    it "ends when call returns, even if the stream was not closed" do
      expect(streaming { |stream| stream.write("x") }.calls).to eq(%i[start finish])
    end

    it "ends when the tasks end that it handed the stream to" do
      request = streaming do |stream|
        Async do
          sleep(0.01)
          stream.write("from a child")
          stream.close
        end
      end
      expect([request.body, request.calls]).to eq(["from a child", %i[start finish]])
    end

    it "can be used no longer once the request is over, by whatever was left running" do
      errors = Thread::Queue.new
      child = nil
      serve do |env|
        next [200, {}, ["another"]] if env["PATH_INFO"] == "/other"

        [200, {}, lambda do |stream|
          child = Async do
            sleep
          ensure
            begin
              stream.write("into another response")
            rescue Ruvoy::ClientDisconnected => e
              errors << e
            end
          end
          stream.write("x")
          raise "midway"
        end]
      end
      expect(native.request.wait).to be_reset
      expect(native.request(path: "/other").wait.body).to eq("another")
      stop_server
      expect(errors.pop(timeout: 5).message).to eq("the request is over")
      expect(child).to be_stopped
    end

    it "wakes whatever waits for room when the request is over" do
      outcome = Thread::Queue.new
      serve do |_env|
        [200, {}, lambda do |stream|
          Async do
            stream.write("x" * 1000)
          rescue Ruvoy::ClientDisconnected => e
            outcome << e.message
          end
          raise "midway" if stream.read(1)
        end]
      end
      request = native.request(method: "POST", body: :open)
      request.room = 10
      request.wait_until("the room to be filled") { request.body.bytesize == 10 }
      request.send_body("!")
      request.wait
      expect(outcome.pop(timeout: 5)).to eq("the request is over")
    end

    it "keeps the writes of several fibers apart" do
      serve do |_env|
        [200, {}, lambda do |stream|
          %w[a b].map { |letter| Async { stream.write(letter * 1000) } }.each(&:wait)
          stream.close
        end]
      end
      request = native.request
      request.room = 10
      request.wait_until("the room to be filled") { request.body.bytesize == 10 }
      request.room = 1990
      expect(request.wait.body).to eq(("a" * 1000) + ("b" * 1000))
    end

    it "resets the stream if it raises, even through an ensure that closes" do
      request = streaming do |stream|
        stream.write("some")
        raise "midway"
      ensure
        stream.close
      end
      expect_reset(request, /midway/)
    end

    it "ends properly if it closes while it handles an exception" do
      request = streaming do |stream|
        raise "handled"
      rescue RuntimeError
        stream.write("recovered")
        stream.close
      end
      expect([request.calls, request.body, log_text]).to eq([%i[start finish], "recovered", ""])
    end

    it "only reports what is raised after the response has ended" do
      request = streaming do |stream|
        stream.close
        raise "afterwards"
      end
      expect([request.calls, log_text]).to match([%i[start finish], /afterwards/])
    end

    it "is held to its content-length" do
      expect_reset(streaming({ "content-length" => "3" }) do |stream|
        stream.write("abcd")
      end, /longer than its content-length/)
      serve { [200, { "content-length" => "3" }, ->(stream) { stream.write("ab") && stream.close }] }
      expect_reset(native.request.wait, /ended after 2 of 3 bytes/)
    end

    it "is interrupted when the client leaves" do
      order = []
      serve do |_env|
        [200, {}, lambda do |stream|
          stream.read(1)
        ensure
          order << :ensured
          stream.close
        end]
      end
      request = native.request(method: "POST", body: :open)
      request.wait_until("the head") { request.status == 200 }
      request.cancel
      request.wait
      expect([order, request.outcome, log_text]).to eq([[:ensured], nil, ""])
    end

    it "wakes a fiber that reads when another closes" do
      request = streaming(method: "POST", body: :open) do |stream|
        reader = Async do
          stream.read(1)
        rescue IOError => e
          e.message
        end
        stream.close_read
        stream.write(reader.wait)
      end
      expect(request.body).to eq("not opened for reading")
    end
  end

  describe "an upgrade" do
    let(:offer) { { "rack.protocol": ["websocket"], method: "GET", body: :open } }

    def echo = ->(stream) { stream.write(stream.readpartial(10)) && stream.close }

    it "answers 101 with the protocol, and carries both directions" do
      serve { |_env| [101, { "rack.protocol" => "websocket", "sec-websocket-accept" => "x" }, echo] }
      request = native.request(**offer)
      request.wait_until("the head") { request.status == 101 }
      expect(request.fields).to eq(%w[sec-websocket-accept x upgrade websocket connection upgrade])
      request.send_body("frame")
      expect([request.wait.body, request.calls]).to eq(["frame", %i[start finish]])
    end

    it "is accepted by a 200 too, whatever the content-length, and in other letters" do
      serve { |_env| [200, { "rack.protocol" => "WebSocket", "content-length" => "5" }, echo] }
      request = native.request(**offer)
      request.send_body("frame")
      expect([request.wait.status, request.header("content-length"), request.body]).to eq([101, nil, "frame"])
    end

    it "is accepted by 101 with the older upgrade header" do
      serve { |_env| [101, { "upgrade" => "websocket", "connection" => "Upgrade" }, echo] }
      request = native.request(**offer)
      request.send_body("frame")
      expect(request.wait.fields).to eq(%w[upgrade websocket connection upgrade])
    end

    it "may be ignored or refused with an ordinary response" do
      serve do |env|
        env["PATH_INFO"] == "/no" ? [403, { "rack.protocol" => "websocket" }, ["no"]] : [200, {}, ["plain"]]
      end
      expect([native.request(**offer).wait, native.request(path: "/no", **offer).wait].map do |one|
        [one.status, one.body]
      end)
        .to eq([[200, "plain"], [403, "no"]])
    end

    it "is refused with a protocol that was not offered" do
      expect_contract_error(respond(200, { "rack.protocol" => "h2c" }, echo, **offer),
                            /did not offer the protocol "h2c"/)
    end

    it "is refused without a streaming body" do
      expect_contract_error(respond(101, { "rack.protocol" => "websocket" }, ["x"], **offer),
                            /streaming body, not Array/)
    end
  end
end
