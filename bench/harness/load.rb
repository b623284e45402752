# frozen_string_literal: true

# Puts load on a server with wrk (HTTP/1.1) or h2load (HTTP/2), for a bounded time.

require "json"
require "open3"
require "tempfile"

module Bench
  # Each run gives requests, seconds, p50_us, p99_us, max_us, errors and timeouts.
  #
  # Both clients send the next request of a connection when the answer to the last one is there: a server that stalls
  # is asked less, so that its p99 looks better than users would find it. That is the same for all servers.
  module Load
    TIMEOUT_S = 20
    # So much longer than planned a client may take before it is given up.
    GRACE_S = 45

    class Failed < StandardError; end

    module_function

    # @param scenario [Scenario]
    # @param port [Integer]
    # @param seconds [Numeric]
    # @return [Hash{String => Numeric}]
    # @raise [Failed] if the client gave no result
    def run(scenario, port, seconds)
      url = "#{scenario.scheme}://127.0.0.1:#{port}#{scenario.path}"
      scenario.http2 ? h2load(scenario, url, seconds) : wrk(scenario, url, seconds)
    end

    def wrk(scenario, url, seconds)
      headers = scenario.headers.flat_map { |name, value| ["-H", "#{name}: #{value}"] }
      output = capture("wrk", "-t1", "-c#{scenario.connections}", "-d#{seconds}s", "--timeout", "#{TIMEOUT_S}s",
                       "--latency", "-s", File.join(__dir__, "load.lua"), *headers, url, "--",
                       scenario.upload_bytes.to_s, limit: seconds + GRACE_S)
      JSON.parse(output[/^RESULT (.*)/, 1] || raise(Failed, "wrk gave no result:\n#{output}"))
    end

    def h2load(scenario, url, seconds)
      Tempfile.create("h2load") do |log|
        headers = scenario.headers.flat_map { |name, value| ["-H", "#{name}: #{value}"] }
        output = capture("h2load", "-t1", "-c#{scenario.connections}", "-m#{scenario.streams}", "-D#{seconds}",
                         "--log-file=#{log.path}", *headers, url, limit: seconds + GRACE_S)
        h2load_result(output, log, seconds)
      end
    end

    # The log has a line for each request: start in µs, status, duration in µs.
    def h2load_result(output, log, seconds)
      statuses, durations = log.each_line.map { |line| line.split.values_at(1, 2).map(&:to_i) }.transpose
      raise Failed, "h2load gave no result:\n#{output}" if durations.nil?

      failed = output[/(\d+) failed/, 1].to_i
      durations.sort!
      { "requests" => durations.size, "seconds" => seconds.to_f, "errors" => failed + statuses.count { _1 != 200 },
        "timeouts" => 0, "p50_us" => durations[durations.size / 2], "p99_us" => durations[durations.size * 99 / 100],
        "max_us" => durations.last }
    end

    def capture(*command, limit:)
      output, status = Open3.capture2e("timeout", limit.to_s, *command)
      raise Failed, "#{command.first} ended with #{status.exitstatus}:\n#{output}" unless status.success?

      output
    end
  end
end
