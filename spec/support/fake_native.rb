# frozen_string_literal: true

# A stand-in for Ruvoy::Native behind the same contract: the spec's thread plays Envoy, the server has one of its own.

require "ruvoy/errors"
require "ruvoy/request"

# Keeps what crosses in Ruby objects, and signals through a pipe as Rust does through an eventfd.
class FakeNative
  # One request: what the spec sends, and what the server has answered.
  class Exchange
    attr_reader :id, :env, :calls, :status, :fields, :body, :hints, :trailers, :outcome, :releases
    attr_accessor :request_trailers

    def initialize(native, id, env, body)
      @native = native
      @id = id
      @env = env
      @expects_body = !body.nil?
      @input = body.is_a?(String) ? body.b : "".b
      @ended = body.is_a?(String)
      @room = nil
      @gone = false
      @calls = []
      @hints = []
      @body = "".b
      @releases = 0
    end

    # For the spec's thread.

    def send_body(bytes) = @native.change(self, 2) { @input << bytes.b }

    def end_body(trailers = nil)
      @native.change(self, 2) do
        @request_trailers = trailers
        @ended = true
      end
    end

    # From now on the client takes no more than this many bytes, until more are allowed.
    def room=(bytes)
      @native.change(self, 4) { @room = bytes }
    end

    def cancel = @native.change(self, 8) { @gone = true }

    def header(name)
      values = (fields || []).each_slice(2).filter_map { |field, value| value if field == name }
      values.size < 2 ? values.first : values
    end

    def wait = wait_until("its end") { @releases.positive? }

    def wait_until(what = "the condition", &)
      @native.wait_until("request #{@id}: #{what}", &)
      self
    end

    def complete? = @outcome == :complete

    def reset? = @outcome == :reset

    # For the server, with the lock held.

    def body? = @expects_body

    def read(max)
      raise Ruvoy::ClientDisconnected, "the client left" if @gone
      return (@ended ? nil : false) if @input.empty?

      @input.slice!(0, max)
    end

    def take(string, offset)
      raise Ruvoy::ClientDisconnected, "the client left" if @gone
      raise "a body before the head" if @status.nil?
      raise "a body after the end" if @outcome

      taken = string.byteslice(offset, [@room || string.bytesize, 65_536].min)
      @body << taken.b
      @room -= taken.bytesize if @room
      taken.bytesize
    end

    def answer(call, status, fields)
      @calls << call
      return if @gone
      raise "a second head" if @status

      @status = status
      @fields = check(fields)
    end

    def hint(fields)
      raise "a hint after the head" if @status

      @hints << check(fields)
    end

    def append(bytes) = @body << bytes.b

    def finish(outcome, trailers = nil)
      @calls << (outcome == :complete ? :finish : :reset) unless @calls.last == :respond
      return if @gone
      raise "a second end" if @outcome

      @trailers = trailers && check(trailers)
      @outcome = outcome
    end

    def release
      @releases += 1
    end

    private

    def check(fields)
      raise "odd fields #{fields.inspect}" unless fields.size.even? && fields.all?(String)

      fields.each_slice(2) { |name, _| raise "bad name #{name}" unless name.match?(/\A[!-9;-@\[-~]+\z/) }
      fields.dup
    end
  end

  PATIENCE_SECONDS = 10

  attr_reader :logs, :wakeups, :takes, :buffer_bytes
  attr_accessor :template
  attr_writer :owner

  def initialize(buffer_bytes: 1_048_576)
    @buffer_bytes = buffer_bytes
    @lock = Thread::Mutex.new
    @changed = Thread::ConditionVariable.new
    @reader, @writer = IO.pipe
    @queue = []
    @batch = []
    @exchanges = {}
    @logs = []
    @armed = @signalled = false
    @wakeups = @takes = 0
    @next_id = 0
    @owner = nil
  end

  # For the spec's thread.

  def request(method: "GET", path: "/", body: nil, version: "HTTP/1.1", **more)
    @lock.synchronize do
      @next_id += 1
      env = { "REQUEST_METHOD" => method, "PATH_INFO" => path, "QUERY_STRING" => "", "SERVER_NAME" => "localhost",
              "SERVER_PORT" => "80", "SERVER_PROTOCOL" => version, "rack.url_scheme" => "http" }
      exchange = @exchanges[@next_id] = Exchange.new(self, @next_id, env.merge(more.transform_keys(&:to_s)), body)
      push((@next_id << 8) | bits(exchange))
      exchange
    end
  end

  def stop = @lock.synchronize { push(0) }

  def change(exchange, bits)
    @lock.synchronize do
      yield
      push((exchange.id << 8) | bits)
    end
  end

  def wait_until(what = "the condition")
    deadline = now + PATIENCE_SECONDS
    @lock.synchronize do
      until yield
        raise "waited in vain for #{what}" if now > deadline

        @changed.wait(@lock, 0.05)
      end
    end
  end

  # Ruvoy::Native.

  def wakeup_fd = @reader.fileno

  def take(woken)
    locked do
      @takes += 1
      @armed = false
      @signalled = false if woken && @reader.read_nonblock(64)
      @batch.concat(@queue)
      @queue.clear
      @batch.size
    end
  end

  def next_event = @batch.shift

  def arm = locked { @armed = @queue.empty? }

  def env(id) = locked { @template.merge(find(id).env.transform_values(&:dup)) }

  def read(id, max)
    raise "max is #{max}" unless max.positive?

    locked { find(id).read(max) }
  end

  def request_trailers(id) = locked { find(id).request_trailers }

  def respond(id, status, fields, body)
    locked do
      fields += ["content-length", body.bytesize.to_s] if body
      find(id).answer(:respond, status, fields)
      find(id).append(body) if body
      find(id).finish(:complete)
    end
  end

  def informational(id, status, fields)
    raise "#{status} is not 103" unless status == 103

    locked { find(id).hint(fields) }
  end

  def start(id, status, fields) = locked { find(id).answer(:start, status, fields) }

  def write(id, string, offset) = locked { find(id).take(string, offset) }

  def write_file(id, fileno, offset, length)
    locked do
      bytes = IO.for_fd(fileno, autoclose: false).pread(length, offset)
      find(id).take(bytes, 0)
    rescue EOFError
      -1
    end
  end

  def finish(id, trailers = nil) = locked { find(id).finish(:complete, trailers) }

  def reset(id) = locked { find(id).finish(:reset) }

  def release(id)
    locked do
      find(id).release
      @exchanges.delete(id)
    end
  end

  def log(level, message) = @lock.synchronize { @logs << [level, message] }

  def inflight = @lock.synchronize { @exchanges.size }

  private

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  # Those of a new request's event.
  def bits(exchange)
    bits = Ruvoy::Request::REQUEST
    bits |= Ruvoy::Request::INPUT if exchange.body?
    bits |= Ruvoy::Request::UPGRADE if exchange.env.key?("rack.protocol")
    bits |= Ruvoy::Request::HEAD if exchange.env["REQUEST_METHOD"] == "HEAD"
    bits
  end

  def push(event)
    @queue << event
    return unless @armed && !@signalled

    @signalled = true
    @wakeups += 1
    @writer.write("!")
  end

  def locked
    @owner ||= Thread.current
    raise ThreadError, "only the owner thread may call Ruvoy::Native" unless Thread.current.equal?(@owner)

    @lock.synchronize do
      yield
    ensure
      @changed.broadcast
    end
  end

  def find(id) = @exchanges.fetch(id)
end
