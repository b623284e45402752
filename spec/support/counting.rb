# frozen_string_literal: true

# Counts what requests cost: with the module that was built to count, and with strace.

require "open3"

module Counting
  ROOT = File.expand_path("../..", __dir__)
  MODULE = File.join(ROOT, "target/gates/release/libruvoy_fiber.so")

  # The bounds of the gates, each for one request.
  OBJECTS = 31
  # Where the owner thread sleeps between any two requests.
  OBJECTS_AND_SLEEP = 35
  ALLOCATIONS = 10
  WAKEUPS = 0.15
  SYSTEM_CALLS = 0.01

  REQUESTS = 10_000
  OPEN_CONNECTIONS = 100
  LOAD_S = 60

  # @return [EnvoyProcess] with the module that counts
  def count_server(rackup)
    raise "#{MODULE} is not there: bin/dev bundle exec rake gates:compile" unless File.file?(MODULE)

    EnvoyProcess.start(rackup:, configure: lambda { |bootstrap|
      modules(bootstrap).each { |config| config["module"]["local"]["filename"] = MODULE }
    })
  end

  # @return [Hash{String => Numeric}] what the server has used so far
  def counts(server) = JSON.parse(curl(server, "/counts").body)

  # Exactly so many requests, over connections of its own.
  def load_with(server, requests, connections)
    output, status = Open3.capture2e("h2load", "--h1", "-t1", "-c#{connections}", "-n#{requests}",
                                     "http://127.0.0.1:#{server.port}/")
    expect(status).to be_success, output
    expect(output).to match(/ #{requests} succeeded, 0 failed, 0 errored/)
  end

  # Traces the worker and the owner thread while 10,000 requests pass over connections that are open already.
  # @return [Hash{String => Float}, nil] calls of a request by name; nil: strace cannot trace here
  def system_calls(server, names)
    load = Process.spawn("wrk", "-t1", "-c#{OPEN_CONNECTIONS}", "-d#{LOAD_S}s", "http://127.0.0.1:#{server.port}/",
                         out: File::NULL)
    wait_until("all connections are open") { server.stats["http.ruvoy.downstream_cx_active"] >= OPEN_CONNECTIONS }
    trace(server, names)
  ensure
    stop_child(load) if load
  end

  def report(what, costs)
    figures = costs.map { |name, cost| "#{name} #{cost.round(4)}" }.join(", ")
    RSpec.configuration.reporter.message("cost of a request, #{what}: #{figures}")
  end

  private

  def trace(server, names)
    file = File.join(server.directory, "trace")
    threads = threads(server).flat_map { |tid| ["-p", tid] }
    strace = Process.spawn("strace", "-qq", "-e", "trace=#{names.join(",")},write", "-o", file, *threads,
                           err: File::NULL)
    traced = wait_until("strace traces or gives up") { (File.size?(file) && :yes) || (ended?(strace) && :no) }
    return if traced == :no

    requests = count_requests(server)
    stop_child(strace)
    names.to_h { |name| [name, File.foreach(file).count { |line| line.include?("#{name}(") }.fdiv(requests)] }
  end

  # @return [Integer] how many passed meanwhile, 10,000 or more
  def count_requests(server)
    first = completed(server)
    wait_until("#{REQUESTS} requests have passed", seconds: LOAD_S) { completed(server) - first >= REQUESTS }
    completed(server) - first
  end

  def completed(server) = server.stats["http.ruvoy.downstream_rq_completed"]

  def threads(server)
    Dir.children("/proc/#{server.pid}/task").select do |tid|
      File.read("/proc/#{server.pid}/task/#{tid}/comm").match?(/\A(wrk:worker|ruvoy owner)/)
    end
  end

  def ended?(pid) = Process.wait(pid, Process::WNOHANG)

  def stop_child(pid)
    Process.kill(:INT, pid)
    Process.wait(pid)
  rescue Errno::ESRCH, Errno::ECHILD
    nil # it has ended
  end

  def modules(value)
    case value
    when Hash then value.flat_map { |key, one| key == "dynamic_module_config" ? [one] : modules(one) }
    when Array then value.flat_map { |one| modules(one) }
    else []
    end
  end
end
