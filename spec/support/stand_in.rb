# frozen_string_literal: true

# A stand-in for upstream services: an HTTP/1.1 server in the spec's own process that tells what it saw.

require "digest"
require "json"
require "openssl"
require "socket"
require_relative "waiting"

class StandIn
  include Waiting

  Request = Struct.new(:verb, :path, :fields, :body) do
    # @return [String, nil] the values of a field, joined
    def [](name)
      values = fields.filter_map { |key, value| value if key == name }
      values.join(", ") unless values.empty?
    end
  end

  BLOCK = ("b" * 65_536).freeze

  # What answers which paths; a number in the path is handed on.
  ROUTES = {
    %r{\A/echo} => :echo, %r{\A/cookies} => :cookies, %r{\A/gate} => :gate, %r{\A/flaky/(\d+)} => :flaky,
    %r{\A/status/(\d+)} => :status, %r{\A/bytes/(\d+)} => :bytes, %r{\A/paced/(\d+)} => :paced,
    %r{\A/drops} => :drops, %r{\A/stall\z} => :stall, %r{\A/stalled-body} => :stalled_body,
    %r{\A/hang-up} => :hang_up, %r{\A/early} => :early, %r{\A/websocket} => :websocket, // => :nothing
  }.freeze

  # @return [Integer]
  attr_reader :port
  # @return [Array<Request>] all that were read, in order
  attr_reader :requests
  # @return [Integer] the most requests that were in hand at once
  attr_reader :most_at_once

  # @param tls [OpenSSL::SSL::SSLContext, nil]
  def initialize(tls: nil)
    @server = TCPServer.new("127.0.0.1", 0)
    @port = @server.local_address.ip_port
    @tls = tls
    @lock = Thread::Mutex.new
    @changed = Thread::ConditionVariable.new
    reset
    @acceptor = Thread.new { accept }
  end

  def url = "http://127.0.0.1:#{port}"

  # Forgets what it saw.
  def reset
    @requests = []
    @most_at_once = 0
    @in_hand = 0
    @open = false
    @failures = Hash.new(0)
    @drops = Thread::Queue.new
    @sent = 0
    @window = nil
    @closed = 0
  end

  # @return [Integer] requests in hand now
  def in_hand = @lock.synchronize { @in_hand }

  # Lets the requests for /gate go on, now and later.
  def open_gate = change { @open = true }

  # Makes a request for /drops send a piece, or end if it is nil.
  def drop(text) = @drops.push(text)

  # @return [Integer] bytes of /paced sent
  attr_reader :sent

  # Lets /paced send this many bytes in all.
  def window=(bytes)
    change { @window = bytes }
  end

  # @return [Integer] connections that the other side closed while /stall or /stalled-body waited
  def closed = @lock.synchronize { @closed }

  def stop
    @acceptor.kill
    @server.close
  end

  private

  def change
    @lock.synchronize do
      yield
      @changed.broadcast
    end
  end

  def wait_for
    @lock.synchronize { @changed.wait(@lock, 1) until yield }
  end

  def accept
    loop do
      socket = @server.accept
      Thread.new(socket) { |accepted| converse(accepted) }
    end
  end

  def converse(socket)
    socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1)
    connection = @tls ? OpenSSL::SSL::SSLSocket.new(socket, @tls).tap(&:accept) : socket
    nil while serve(connection)
  rescue IOError, SystemCallError, OpenSSL::SSL::SSLError
    nil # The other side is gone.
  ensure
    socket.close
  end

  # @return [Boolean] whether the connection goes on
  def serve(connection)
    request = read_head(connection) or return false
    read_body(connection, request) unless request.path == "/early"
    change do
      @requests << request
      @in_hand += 1
      @most_at_once = [@most_at_once, @in_hand].max
    end
    begin
      answer(connection, request)
    ensure
      change { @in_hand -= 1 }
    end
  end

  def read_head(connection)
    line = connection.gets("\r\n") or return
    verb, path, = line.split
    fields = []
    until (field = connection.readline("\r\n").chomp).empty?
      name, value = field.split(":", 2)
      fields << [name.downcase, value.strip]
    end
    Request.new(verb, path, fields, "".b)
  end

  def read_body(connection, request)
    if request["transfer-encoding"] == "chunked"
      while (size = connection.readline("\r\n").hex).positive?
        request.body << connection.read(size)
        connection.read(2)
      end
      nil until connection.readline("\r\n") == "\r\n"
    elsif (length = request["content-length"])
      request.body << connection.read(length.to_i)
    end
  end

  def answer(connection, request)
    pattern, route = ROUTES.find { |path, _| path.match?(request.path) }
    send(route, connection, request, pattern.match(request.path)[1].to_i)
  end

  def head(status, length, fields = "") = "HTTP/1.1 #{status} S\r\ncontent-length: #{length}\r\n#{fields}\r\n"

  def send_whole(connection, body, fields = "", status = "200")
    connection.write(head(status, body.bytesize, fields), body)
    true
  end

  # The routes: each returns whether the connection goes on.

  def echo(connection, request, _)
    body = { verb: request.verb, fields: request.fields, size: request.body.bytesize,
             digest: Digest::SHA256.hexdigest(request.body) }
    body = request.verb == "HEAD" ? "" : JSON.generate(body)
    send_whole(connection, body, "content-type: application/json\r\n")
  end

  def cookies(connection, _, _)
    send_whole(connection, "two", "set-cookie: a=1\r\nset-cookie: b=2\r\nkeep-alive: 5\r\n")
  end

  def gate(connection, _, _)
    wait_for { @open }
    send_whole(connection, "passed")
  end

  # Fails so often before it succeeds.
  def flaky(connection, request, times)
    failures = @lock.synchronize { @failures[request.path] += 1 }
    failures > times ? send_whole(connection, "at last") : send_whole(connection, "busy", "", "503")
  end

  def status(connection, _, number)
    return send_whole(connection, "status", "", number) unless [204, 304].include?(number)

    connection.write("HTTP/1.1 #{number} S\r\n\r\n")
    true
  end

  def bytes(connection, _, left)
    connection.write(head("200", left))
    left -= connection.write(BLOCK[0, [left, BLOCK.bytesize].min]) while left.positive?
    true
  end

  # Sends no more than the window allows; without one as fast as it can.
  def paced(connection, _, length)
    connection.write(head("200", length))
    while @sent < length
      wait_for { @window.nil? || @sent + BLOCK.bytesize <= @window }
      sent = connection.write(BLOCK[0, [length - @sent, BLOCK.bytesize].min])
      change { @sent += sent }
    end
    true
  end

  def drops(connection, _, _)
    connection.write("HTTP/1.1 200 S\r\ntransfer-encoding: chunked\r\n\r\n")
    while (text = @drops.pop)
      connection.write("#{text.bytesize.to_s(16)}\r\n#{text}\r\n")
    end
    connection.write("0\r\n\r\n")
    true
  end

  # Says nothing more, and notices when the other side gives up.
  def stall(connection, _, _)
    connection.read(1)
    false
  rescue SystemCallError
    false
  ensure
    change { @closed += 1 }
  end

  def stalled_body(connection, request, number)
    connection.write(head("200", 100), "half")
    stall(connection, request, number)
  end

  def hang_up(connection, _, _)
    connection.write(head("200", 100), "half")
    false
  end

  # Does not read the request's body.
  def early(connection, _, _)
    connection.write(head("413", 5, "connection: close\r\n"), "early")
    connection.close_write
    # Closing with unread bytes would be a reset, which overtakes the answer.
    nil while connection.read(65_536)
    false
  end

  # After the switch: says hello, then sends back what comes, until that is "bye".
  def websocket(connection, request, _)
    return send_whole(connection, "no", "", "403") if request["sec-websocket-protocol"] == "none"

    connection.write("HTTP/1.1 101 S\r\nconnection: upgrade\r\nupgrade: websocket\r\n" \
                     "sec-websocket-accept: of #{request["sec-websocket-key"]}\r\n\r\nhello")
    until (bytes = connection.readpartial(65_536)) == "bye"
      connection.write("echo #{bytes}")
    end
    false
  end

  def nothing(connection, _, _) = send_whole(connection, "none", "", "404")
end
