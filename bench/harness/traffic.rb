# frozen_string_literal: true

# The mixed traffic of a soak: short requests, uploads, slow readers, clients that leave, and bursts beyond the limit.

require "open3"
require "socket"

module Bench
  # One cycle of it. Each kind has a thread of its own and checks the answers it waits for.
  class Traffic
    KINDS = %i[short cancel upload slow_read burst].freeze
    UPLOAD_BYTES = 1_000_000
    LARGE_BYTES = 80 * 65_536
    # More than the 1,024 requests that are admitted at once.
    BURST = 1200
    PAUSE_S = 0.005

    # @param server [EnvoyProcess]
    # @param seconds [Numeric] how long
    def initialize(server, seconds)
      @server = server
      @seconds = seconds
      @counts = Hash.new(0)
      @lock = Mutex.new
      @random = Random.new
    end

    # @return [Hash{String => Integer}] requests, those refused with 503, those left by the client, and wrong answers
    def call
      @deadline = now + @seconds
      KINDS.map { |kind| Thread.new { send(kind) } }.each(&:join)
      @counts
    end

    private

    def count(what, number = 1) = @lock.synchronize { @counts[what] += number }

    def url(path) = "http://127.0.0.1:#{@server.port}#{path}"

    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

    def repeat
      yield while now < @deadline
    end

    def short
      output, = Open3.capture2e("wrk", "-t1", "-c10", "-d#{@seconds.ceil}s", url("/"))
      count("requests", output[/(\d+) requests in/, 1].to_i)
      # Those that came during a burst.
      count("refused", output[/Non-2xx or 3xx responses: (\d+)/, 1].to_i)
      count("wrong") if output.include?("Socket errors")
    end

    # The client leaves while the application sleeps, or while it answers.
    def cancel
      repeat do
        request(%w[/sleep /large].sample(random: @random)) { sleep(@random.rand(0.03)) }
        count("cancelled")
      end
    end

    # With an expectation, so that a refusal during a burst comes before the body and is not lost with the connection.
    def upload
      repeat do
        connect do |socket|
          socket.write("POST /upload HTTP/1.1\r\nHost: soak\r\nContent-Length: #{UPLOAD_BYTES}\r\n" \
                       "Expect: 100-continue\r\nConnection: close\r\n\r\n")
          head = socket.gets("\r\n\r\n").to_s
          next judge(head) { false } unless head.start_with?("HTTP/1.1 100")

          send_slowly(socket)
          check(socket) { |body| body.include?(UPLOAD_BYTES.to_s) }
        end
      end
    end

    def send_slowly(socket)
      10.times do
        socket.write("x" * (UPLOAD_BYTES / 10))
        sleep(PAUSE_S)
      end
    end

    def slow_read
      repeat do
        request("/large") do |socket|
          check(socket) { |body| body.bytesize >= LARGE_BYTES }
        end
      end
    end

    def request(path)
      connect do |socket|
        socket.write("GET #{path} HTTP/1.1\r\nHost: soak\r\nConnection: close\r\n\r\n")
        yield socket
      end
    end

    def connect
      socket = TCPSocket.new("127.0.0.1", @server.port)
      yield socket
    rescue SystemCallError
      count("wrong")
    ensure
      socket&.close
    end

    # Reads to the end, not fast. A request that was refused during a burst is no mistake.
    def check(socket)
      head = socket.gets("\r\n\r\n").to_s
      body = read_slowly(socket)
      judge(head) { yield body }
    end

    def judge(head)
      count("requests")
      return count("refused") if head.start_with?("HTTP/1.1 503")

      count("wrong") unless head.start_with?("HTTP/1.1 200") && yield
    end

    def read_slowly(socket)
      body = +""
      while (piece = socket.read(65_536))
        body << piece
        sleep(PAUSE_S)
      end
      body
    end

    # One burst a cycle, each request of which is answered: with 200, or with 503 where it is one too many.
    def burst
      output, = Open3.capture2e("h2load", "-t1", "-c12", "-m#{BURST / 12}", "-n#{2 * BURST}", url("/sleep"))
      served, refused = output.match(/(\d+) 2xx, \d+ 3xx, \d+ 4xx, (\d+) 5xx/)&.captures.to_a.map(&:to_i)
      count("requests", 2 * BURST)
      count("refused", refused.to_i)
      count("wrong") if served.to_i + refused.to_i != 2 * BURST
    end
  end
end
