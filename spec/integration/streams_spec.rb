# frozen_string_literal: true

# Rack's stream, part by part, for requests with a body and for upgraded connections.

require "support/integration"

RSpec.describe "the stream of a streaming body" do
  serve "streams"

  UPGRADE = "Host: a.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n" # rubocop:disable Lint/ConstantDefinitionInBlock

  before { @before = server.probe }

  def changed(name) = server.probe[name] - @before[name]

  def wait_until_alone = wait_until("only the probe is in flight") { server.probe["inflight"] == 1 }

  %i[h1 h2].each do |version|
    context "over #{version}" do
      def post(version, path, body) = exchange(version, path, verb: "POST", body: body)

      it "has every method of Rack's specification" do
        expect(exchange(version, "/methods").body).to eq("[]")
      end

      it "reads like an IO" do
        expect(post(version, "/read", "abcdefg").body).to eq(["abc", "de", "de", "fg", nil, ""].inspect)
      end

      it "writes, counts and closes" do
        expect(post(version, "/write", "").body).to eq("abcde#{[2, 3, true].inspect}false")
        expect(changed("closed")).to eq(1)
      end

      it "ends the answer at close_write and still reads" do
        request = post(version, "/close-write", "rest")
        expect(request.body).to eq("answered")
        wait_until("the rest is read") { changed("read rest") == 1 }
        expect(changed("refused")).to eq(1)
      end

      it "reads no more after close_read" do
        expect(post(version, "/close-read", "abc").body).to eq("IOError")
      end

      it "is closed where the body forgets to" do
        expect(exchange(version, "/forget").body).to eq("forgotten")
      end

      it "may be given to a task" do
        expect(post(version, "/task", "hello").body).to eq("HELLO")
      end

      it "goes both ways at once" do
        request = post(version, "/duplex", :stream)
        request.write("ab")
        seen = +""
        seen << request.read until seen.include?("2\n") && seen.include?("ab\n")
        request.write("cd")
        request.finish
        seen << request.body
        expect(seen.lines(chomp: true)).to match_array(%w[0 1 2 ab cd])
      end

      it "is reset where the body fails" do
        request = exchange(version, "/fail")
        expect(request.read).to eq("some of it")
        expect { request.read }.to raise_error(HTTP1::Broken)
      end
    end
  end

  context "with an upgrade over HTTP/1.1" do
    def upgrade(path, bytes = "")
      connection = HTTP1::Connection.new(server)
      connection.write("GET #{path} HTTP/1.1\r\n#{UPGRADE}#{bytes}")
      head = connection.read_head
      expect([head.status, head["upgrade"], head["connection"]]).to eq([101, "websocket", "upgrade"])
      connection
    end

    it "carries bytes as they are" do
      connection = upgrade("/duplex")
      connection.write("ab")
      expect(connection.read(9).lines.sort).to eq(["0\n", "1\n", "2\n", "ab\n"])
      connection.write("cd")
      expect(connection.read(3)).to eq("cd\n")
      connection.close
      wait_until_alone
    end

    it "reads what came with the head" do
      expect(upgrade("/task", "hello").read(5)).to eq("HELLO")
    end

    it "ends the connection with close_write, for the end is all that a raw connection can say" do
      expect(upgrade("/forget").read(9)).to eq("forgotten")
      connection = upgrade("/close-write", "r")
      expect(connection.read(8)).to eq("answered")
      expect(connection.closed_by_peer?).to be(true)
      wait_until_alone
    end

    it "ends it where the body fails" do
      connection = upgrade("/fail")
      expect(connection.read(10)).to eq("some of it")
      expect(connection.closed_by_peer?).to be(true)
    end

    it "interrupts the application when the peer vanishes" do
      connection = upgrade("/vanish")
      connection.write("abc")
      expect(connection.read(3)).to eq("abc")
      connection.abort
      wait_until("its ensure has run") { changed("ensured") == 1 }
      wait_until_alone
    end
  end
end
