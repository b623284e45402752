# frozen_string_literal: true

# How the cost of a request grows with connections, bodies, headers and requests in flight; Ruvoy alone.

require "socket"
require_relative "load"
require_relative "machine"
require_relative "meter"
require_relative "progress"
require_relative "report"
require_relative "servers"

module Bench
  # Each table has a server of its own, so that its memory is the table's.
  class Scaling
    SECONDS = 2
    # Bodies of so many KiB are few in that time, and those under way at the end would count for those that are done.
    LARGE_KIB = 10_240
    LARGE = { connections: 2, seconds: 8 }.freeze
    IDLE = [0, 10, 100, 1000, 9000].freeze
    CONNECTIONS = [10, 100, 1000].freeze
    KIB = [1, 10, 100, 1024, 10_240, 102_400].freeze
    HEADERS = [5, 20, 50, 90].freeze
    IN_FLIGHT = [1, 10, 100, 1000].freeze
    TABLES = %i[idle_connections connections downloads uploads headers in_flight].freeze

    def initialize
      # Idle connections take a descriptor on either side.
      Process.setrlimit(:NOFILE, Process.getrlimit(:NOFILE).last)
      @progress = Progress.new(IDLE.size + CONNECTIONS.size + (2 * KIB.size) + HEADERS.size + IN_FLIGHT.size)
    end

    def call
      tables = TABLES.map { |name| with_server { |server| table(name, server) } }
      @progress.finish
      Report.write_json(Report::SCALING, { "machine" => Machine.facts, "tables" => tables })
    ensure
      ServerProcess.stop_all
    end

    private

    def with_server
      @server = Servers.all.first.run(scenario)
      @server.wait_until_ready
      yield @server
    ensure
      @server.stop
    end

    def scenario(**)
      Scenario.build(name: "scaling", app: "sized", path: "/?6", **)
    end

    def table(name, server)
      @idle_kib = Meter.resident_kib(server.pids)
      rows = public_send(name)
      { "title" => rows.shift, "note" => rows.shift, "columns" => rows.shift, "rows" => rows }
    end

    # @return [Hash] requests, p50_us, p99_us and what {Run} has besides
    def measure(what, seconds: SECONDS, **)
      @progress.show(what)
      before = Meter.cpu(@server.pids)
      result = Load.run(scenario(**), @server.port, seconds)
      raise Load::Failed, "#{what}: #{result}" if (result["errors"] + result["timeouts"]).positive?

      cpu = Meter.cpu_us(before, Meter.cpu(@server.pids))
      result.merge("cpu" => cpu.values.sum / result["requests"], "kib" => Meter.resident_kib(@server.pids))
    ensure
      @progress.advance
    end

    def us(figure) = format("%.1f", figure)
    def ms(figure) = format("%.2f", figure / 1000.0)
    def mib(figure) = (figure / 1024.0).round.to_s

    public

    def idle_connections
      sockets = []
      rows = IDLE.map do |count|
        sockets << open_connection while sockets.size < count
        resident = Meter.resident_kib(@server.pids)
        each = count.zero? ? "–" : format("%.1f", (resident - @idle_kib).fdiv(count))
        result = measure("#{count} idle connections")
        # What the first requests take, the server keeps: it is not the connections'.
        @idle_kib = result["kib"] if count.zero?
        [count, us(result["cpu"]), ms(result["p99_us"]), each]
      end
      ["Idle connections", "100 connections ask for a short answer while others are open and idle.",
       ["idle", "CPU µs of a request", "p99 ms", "KiB for each idle connection"], *rows]
    ensure
      sockets.each(&:close)
    end

    def connections
      rows = CONNECTIONS.map do |count|
        result = measure("#{count} connections", connections: count)
        [count, us(result["cpu"]), ms(result["p50_us"]), ms(result["p99_us"]), mib(result["kib"])]
      end
      ["Busy connections", "Each asks again as soon as it has its short answer; 1,024 requests may be in flight.",
       ["connections", "CPU µs of a request", "p50 ms", "p99 ms", "resident MiB"], *rows]
    end

    def downloads
      ["Response bodies", "10 connections, 2 from 10 MiB on; the application yields pieces of 64 KiB.",
       *bodies("download") { |kib| { path: "/?#{kib * 1024}" } }]
    end

    def uploads
      ["Request bodies", "10 connections, 2 from 10 MiB on; the application reads pieces of 64 KiB.",
       *bodies("upload") { |kib| { upload_bytes: kib * 1024 } }]
    end

    def headers
      rows = HEADERS.map do |count|
        result = measure("#{count} headers", headers: (1..count).to_h { |number| ["X-Header-#{number}", "v" * 20] })
        [count, us(result["cpu"]), us(result["cpu"] / count)]
      end
      ["Header fields", "100 connections; fields of 20 bytes, besides the usual ones.",
       ["fields", "CPU µs of a request", "for each field"], *rows]
    end

    def in_flight
      rows = IN_FLIGHT.map do |count|
        result = measure("#{count} requests in flight", connections: count, path: "/sleep/100?6")
        each = count < 100 ? "–" : format("%.1f", (result["kib"] - @idle_kib).fdiv(count))
        [count, us(result["cpu"]), ms(result["p50_us"]), ms(result["p99_us"]), each]
      end
      ["Requests in flight", "Each waits for 100 ms in the application. Memory is what was added since the start.",
       ["in flight", "CPU µs of a request", "p50 ms", "p99 ms", "KiB for each"], *rows]
    end

    private

    def bodies(what)
      rows = KIB.map do |kib|
        how = kib < LARGE_KIB ? { connections: 10 } : LARGE
        result = measure("#{what} of #{kib} KiB", **how, **yield(kib))
        [kib, us(result["cpu"]), format("%.3f", result["cpu"] / kib), mib(result["kib"])]
      end
      [["KiB", "CPU µs of a request", "for each KiB", "resident MiB"], *rows]
    end

    # A connection over which one request has gone.
    def open_connection
      socket = TCPSocket.new("127.0.0.1", @server.port)
      socket.write("GET /?6 HTTP/1.1\r\nHost: localhost\r\n\r\n")
      head = socket.gets("\r\n\r\n")
      socket.read(head[/content-length: (\d+)/, 1].to_i)
      socket
    end
  end
end
