# frozen_string_literal: true

# Measures servers side by side: in each round every server has its turn, in an order that is drawn anew.

require "fileutils"
require "json"
require "net/http"
require_relative "load"
require_relative "meter"
require_relative "progress"
require_relative "servers"

module Bench
  # What a shared machine does to one server in one moment, it does to all in the long run, if their turns interleave.
  # So only ratios within one run mean something.
  #
  # After each round the results so far are written; `resume` goes on from there with whole rounds.
  class Run
    WARM_UP_S = 1

    Settings = Struct.new(:rounds, :seconds, :trials, :deadline, :servers, keyword_init: true)

    # @return [Hash] machine, settings and, by scenario, the rounds: [{server => sample}]
    attr_reader :results

    # @param scenarios [Array<Scenario>]
    # @param settings [Settings] rounds of a scenario, seconds of a turn, how often a server is warmed up, monotonic
    #   time at which no further round begins, names of servers (nil: all)
    # @param results [Hash] empty, or those of an interrupted run
    # @param path [String] where the results are kept
    def initialize(scenarios, settings, results, path)
      @scenarios = scenarios
      @settings = settings
      @results = results
      @path = path
      @progress = Progress.new(scenarios.sum { |scenario| missing_rounds(scenario) })
    end

    def call
      @scenarios.each do |scenario|
        measure(scenario) if missing_rounds(scenario).positive? && !over?
      end
      @progress.finish
      # Those for which there was no time.
      @results["scenarios"].delete_if { |_, entry| entry["rounds"].empty? }
    ensure
      ServerProcess.stop_all
    end

    private

    def over? = Process.clock_gettime(Process::CLOCK_MONOTONIC) > @settings.deadline

    def missing_rounds(scenario) = [@settings.rounds.fetch(scenario.name) - entry(scenario)["rounds"].size, 0].max

    def entry(scenario)
      @results["scenarios"][scenario.name] ||= {
        "title" => scenario.title, "note" => scenario.note, "absent" => {}, "chosen" => {}, "rounds" => []
      }
    end

    def measure(scenario)
      running = start(scenario)
      running = choose(scenario, running)
      until missing_rounds(scenario).zero? || over?
        entry(scenario)["rounds"] << round(scenario, running)
        @progress.advance
        save
      end
    rescue StandardError => e
      @progress.note("#{scenario.name}: #{e.message}")
    ensure
      running&.each(&:stop)
    end

    def start(scenario)
      @progress.show("#{scenario.name}: starting the servers")
      present, absent = servers.partition { |server| server.absence(scenario).nil? }
      absent.each { |server| entry(scenario)["absent"][server.label] = server.absence(scenario) }
      running = variants(scenario, present).map { |server| server.run(scenario) }
      running.select { |server| ready?(scenario, server) }
    end

    def ready?(scenario, server)
      server.wait_until_ready
      true
    rescue StandardError => e
      entry(scenario)["absent"][Report.label(server.name)] = "it did not start"
      @progress.note("#{scenario.name}: #{server.name}: #{e.message}")
      server.stop
      false
    end

    def servers
      names = @settings.servers
      names ? Servers.all.select { |server| names.include?(server.family) || names.include?(server.name) } : Servers.all
    end

    # Those that a run chose before it was interrupted.
    def variants(scenario, servers)
      chosen = entry(scenario)["chosen"]
      servers.select { |server| chosen.fetch(server.family, server.name) == server.name }
    end

    # Warms up, and keeps of each family the one with the most requests.
    def choose(scenario, running)
      counts = running.to_h { |server| [server, trial(scenario, server)] }
      families = running.group_by { |server| Servers.all.find { _1.name == server.name }.family }
      kept = families.map do |family, variants|
        best = variants.max_by { |server| counts[server] }
        entry(scenario)["chosen"][family] = best.name
        best
      end
      (running - kept).each(&:stop)
      kept
    end

    def trial(scenario, server)
      @progress.show("#{scenario.name}: warming up #{server.name}")
      expected_status(scenario, server)
      Array.new(@settings.trials) { Load.run(scenario, server.port, WARM_UP_S)["requests"] }.max
    rescue Load::Failed => e
      @progress.note("#{scenario.name}: #{server.name}: #{e.message}")
      0
    end

    # The load generators count statuses of 400 and more only; any other than 200 would be a mistake of ours.
    def expected_status(scenario, server)
      return if scenario.http2 || scenario.tls

      path = URI("http://127.0.0.1:#{server.port}/")
      response = scenario.upload_bytes.zero? ? Net::HTTP.get_response(path) : Net::HTTP.post(path, "x")
      raise Load::Failed, "the status is #{response.code}" unless response.code == "200"
    end

    # @return [Hash{String => Hash}] server => sample
    def round(scenario, running)
      number = entry(scenario)["rounds"].size + 1
      running.shuffle.each_with_object({}) do |server, samples|
        @progress.show("#{scenario.name}: round #{number} of #{@settings.rounds.fetch(scenario.name)}, #{server.name}")
        samples[server.name] = sample(scenario, server)
      end
    end

    def sample(scenario, server)
      result = metered(server) { Load.run(scenario, server.port, @settings.seconds) }
      result.merge("void" => fault(result)).compact
    rescue Load::Failed, SystemCallError => e
      @progress.note("#{scenario.name}: #{server.name}: #{e.message}")
      { "void" => e.message.lines.first.chomp }
    end

    def metered(server)
      before = Meter.cpu(server.pids)
      client_before = client_cpu_us
      result = yield
      cpu_us = Meter.cpu_us(before, Meter.cpu(server.pids)).transform_values(&:round)
      result.merge("cpu_us" => cpu_us, "client_cpu_us" => client_cpu_us - client_before,
                   "peak_kib" => Meter.peak_kib(server.pids))
    end

    def client_cpu_us
      times = Process.times
      ((times.cutime + times.cstime) * 1e6).round
    end

    # @return [String, nil] why the round does not count
    def fault(result)
      errors, timeouts = result.values_at("errors", "timeouts")
      return "#{errors} errors, #{timeouts} timeouts" if (errors + timeouts).positive?

      "no answer" if result["requests"].zero?
    end

    def save
      FileUtils.mkdir_p(File.dirname(@path))
      File.write("#{@path}.new", JSON.pretty_generate(@results))
      File.rename("#{@path}.new", @path)
    end
  end
end
