# frozen_string_literal: true

require "ruvoy/input"
require "support/served"

RSpec.describe Ruvoy::Input do
  # A request whose body lands in the given pieces, with a wait before each.
  let(:source) do
    Class.new do
      attr_reader :waits

      def initialize(pieces)
        @pieces = pieces
        @landed = "".b
        @waits = 0
      end

      def read(max)
        return (@pieces.empty? ? nil : false) if @landed.empty?

        @landed.slice!(0, max)
      end

      def wait_for_input
        @waits += 1
        @landed << @pieces.shift
      end

      def wake_readers = nil
    end
  end

  def input(*pieces) = described_class.new(source.new(pieces.map(&:b)))

  # Those of inputs, without what earlier examples left to the garbage collector.
  def open_files
    GC.start
    Dir["/proc/self/fd/*"].count { |fd| File.symlink?(fd) && File.readlink(fd).include?("ruvoy-body") }
  end

  describe "#read" do
    it "waits until as much is there as was asked for" do
      body = input("ab", "cd", "ef")
      expect([body.read(3), body.read(2), body.read(10), body.read(10)]).to eq(["abc", "de", "f", nil])
    end

    it "reads everything without a length, and an empty String at the end" do
      body = input("ab", "cd")
      expect([body.read, body.read, body.read(nil)]).to eq(["abcd", "", ""])
    end

    it "reads nothing, not even from the client, for 0" do
      from = source.new(["ab"])
      expect(described_class.new(from).read(0)).to eq("")
      expect(from.waits).to eq(0)
    end

    it "gives an empty String for 0 at the end too" do
      body = input
      expect([body.read(0), body.read(1)]).to eq(["", nil])
    end

    it "replaces what is in a buffer and returns it" do
      buffer = +"old"
      body = input("ab", "cdef")
      expect(body.read(3, buffer)).to equal(buffer).and eq("abc")
      expect(body.read(nil, buffer)).to equal(buffer).and eq("def")
      expect(body.read(1, buffer)).to be_nil
      expect(buffer).to eq("")
      expect(body.read(nil, buffer)).to equal(buffer).and eq("")
    end

    it "returns binary Strings" do
      body = input("ü")
      expect([body.read(1), body.read, body.read(0)].map(&:encoding)).to all(be(Encoding::BINARY))
      body.rewind
      expect([body.read(2, +""), body.read].map(&:encoding)).to all(be(Encoding::BINARY))
    end

    it "refuses a negative length" do
      expect { input("a").read(-1) }.to raise_error(ArgumentError, "negative length -1 given")
    end
  end

  describe "#readpartial" do
    it "returns what has landed, and raises at the end" do
      body = input("ab", "cde")
      expect([body.readpartial(10), body.readpartial(2), body.readpartial(10, +"")]).to eq(%w[ab cd e])
      expect { body.readpartial(1) }.to raise_error(EOFError)
      expect(body.readpartial(0)).to eq("")
    end
  end

  describe "#gets" do
    it "reads lines across pieces" do
      body = input("on", "e\ntw", "o\n\nlast")
      expect(Array.new(5) { body.gets }).to eq(["one\n", "two\n", "\n", "last", nil])
    end

    it "knows separators, limits and chomp" do
      body = input("a--b", "-", "-cdef\ng\n")
      expect([body.gets("--"), body.gets("--"), body.gets(2), body.gets("\n", 1), body.gets(chomp: true)])
        .to eq(["a--", "b--", "cd", "e", "f"])
      expect([body.gets(0), body.gets(nil, 1), body.gets(nil), body.gets(nil)]).to eq(["", "g", "\n", nil])
    end

    it "leaves what follows the line to the other readers" do
      body = input("line\nrest", "more")
      expect([body.gets, body.read(5), body.read]).to eq(["line\n", "restm", "ore"])
    end

    it "reads lines longer than it looks at in one go" do
      line = "#{"x" * 5000}\n"
      body = input(line * 3)
      expect(Array.new(4) { body.gets }).to eq([line, line, line, nil])
    end
  end

  describe "#each" do
    it "yields the body as it lands" do
      yielded = []
      body = input("a\nb", "c")
      expect(body.each { |chunk| yielded << chunk }).to equal(body)
      expect(yielded).to eq(["a\nb", "c"])
    end

    it "returns an Enumerator without a block", :unchecked do
      expect(input("a", "b").each.to_a).to eq(%w[a b])
    end
  end

  describe "#rewind" do
    it "starts again from memory, and goes on with what was not read" do
      body = input("abc", "def")
      expect([body.read(2), body.rewind, body.read(4), body.rewind, body.read]).to eq(["ab", 0, "abcd", 0, "abcdef"])
    end

    it "keeps more than 128 KiB in a file that has no name" do
      before = open_files
      pieces = Array.new(40) { |n| n.chr * 10_000 }
      body = input(*pieces)
      expect([body.read(50_000), body.rewind]).to eq([pieces.take(5).join, 0])
      expect(open_files).to eq(before)
      expect(body.read).to eq(pieces.join)
      expect(open_files).to eq(before + 1)
      expect(Dir["/proc/self/fd/*"].filter_map { |fd| File.readlink(fd) if File.symlink?(fd) })
        .to include(/ruvoy-body.* \(deleted\)\z/)
      body.rewind
      expect([body.read(15_000, +""), body.gets("\x02"), body.read].join).to eq(pieces.join)
      body.close
      expect(open_files).to eq(before)
    end

    it "keeps nothing once a stream has taken over, but loses nothing either" do
      body = input("abc", "def\ngh", "i")
      body.read(2)
      body.forget
      expect { body.rewind }.to raise_error(IOError, /not kept/)
      expect([body.read(2), body.gets, body.readpartial(1), body.read]).to eq(["cd", "ef\n", "g", "hi"])
    end

    it "holds no more than the last piece once a stream has taken over" do
      body = input(*Array.new(50) { "x" * 10_000 }).forget
      before = open_files
      expect(body.read.bytesize).to eq(500_000)
      expect(open_files).to eq(before)
    end
  end

  describe "#close" do
    it "refuses to read from then on" do
      body = input("abc")
      expect([body.close, body.close, body.closed?]).to eq([nil, nil, true])
      [-> { body.read }, -> { body.gets }, -> { body.each(&:itself) }, -> { body.rewind }, -> { body.readpartial(1) }]
        .each { |use| expect(&use).to raise_error(IOError) }
    end
  end

  describe "EMPTY" do
    subject(:empty) { described_class::EMPTY }

    it "is always at its end" do
      expect([empty.read, empty.read(1), empty.read(0), empty.gets, empty.each.to_a, empty.rewind, empty.close,
              empty.read])
        .to eq(["", nil, "", nil, [], 0, nil, ""])
      expect { empty.readpartial(1) }.to raise_error(EOFError)
      expect { empty.read(-1) }.to raise_error(ArgumentError)
    end

    it "clears a buffer" do
      buffer = +"old"
      expect([empty.read(1, buffer), buffer, empty.read(nil, buffer)]).to eq([nil, "", ""])
    end

    it "shares no state" do
      expect(empty).to be_frozen
      expect(empty.read).not_to equal(empty.read)
    end
  end

  context "in a request" do
    include_context "with a server"

    it "is the shared empty one without a body" do
      seen = nil
      get { |env| [200, {}, [(seen = env["rack.input"]).read]] }
      expect(seen).to equal(described_class::EMPTY)
    end

    it "parks the fiber until bytes land, while others are served" do
      serve { |env| [200, {}, [env["PATH_INFO"] == "/quick" ? "quick" : env["rack.input"].read(4)]] }
      slow = native.request(method: "POST", body: :open)
      slow.send_body("ab")
      expect(native.request(path: "/quick").wait.body).to eq("quick")
      slow.send_body("cd")
      expect(slow.wait.body).to eq("abcd")
    end

    it "wakes every fiber that waits" do
      serve do |env|
        readers = Array.new(2) { Async { env["rack.input"].readpartial(2) } }
        env["rack.errors"].puts("waiting")
        [200, {}, [readers.map(&:wait).sort.join(",")]]
      end
      request = native.request(method: "POST", body: :open)
      request.wait_until("the readers") { stderr.string.include?("waiting") }
      request.send_body("abcd")
      expect(request.wait.body).to eq("ab,cd")
    end

    it "lets a timeout interrupt a reader, and reads on afterwards" do
      serve do |env|
        Async::Task.current.with_timeout(0.01) { env["rack.input"].read(1) }
      rescue Async::TimeoutError
        env["rack.errors"].puts("timed out")
        [200, {}, [env["rack.input"].read]]
      end
      request = native.request(method: "POST", body: :open)
      request.wait_until("the timeout") { stderr.string.include?("timed out") }
      request.send_body("late")
      request.end_body
      expect(request.wait.body).to eq("late")
    end

    it "tells a reader that another fiber has closed it" do
      request = get(method: "POST", body: :open) do |env|
        reader = Async do
          env["rack.input"].read(1)
        rescue IOError => e
          e.message
        end
        env["rack.input"].close
        [200, {}, [reader.wait]]
      end
      expect(request.body).to eq("not opened for reading")
    end

    it "raises a ThreadError on another thread" do
      request = get(method: "POST", body: "abc") do |env|
        error = Thread.new do
          env["rack.input"].read
        rescue ThreadError => e
          e
        end.value
        [200, {}, [error.message]]
      end
      expect(request.body).to match(/owner thread/)
    end

    it "is read inside an Enumerator that is pulled from outside" do
      serve do |env|
        pieces = Enumerator.new { |all| all << env["rack.input"].readpartial(10) << env["rack.input"].readpartial(10) }
        [200, {}, ["#{pieces.next}|#{pieces.next}"]]
      end
      request = native.request(method: "POST", body: :open)
      request.send_body("one")
      request.wait_until("the first piece to be read") { request.instance_variable_get(:@input).empty? }
      request.send_body("two")
      expect(request.wait.body).to eq("one|two")
    end

    it "shows the trailers once the body has ended" do
      serve do |env|
        before = env["ruvoy.trailers"]
        env["rack.input"].read
        [200, {}, [[before, env["ruvoy.trailers"]].inspect]]
      end
      request = native.request(method: "POST", body: :open)
      request.send_body("x")
      request.end_body({ "x-sum" => "1" })
      expect(request.wait.body).to eq([nil, { "x-sum" => "1" }].inspect)
      expect(request.calls).to eq([:respond])
    end
  end
end
