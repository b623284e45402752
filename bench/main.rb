# frozen_string_literal: true

# The command line of bin/bench.

require "optparse"

$LOAD_PATH.unshift(*%w[../spec ../lib].map { |path| File.expand_path(path, __dir__) })
require_relative "harness/scenario"

module Bench
  # Parses the options, runs what they ask for and writes the report.
  class Main
    SCALING = "scaling"
    FAST_ROUNDS = 7
    ROUNDS = 3
    MAX_SECONDS = 15
    UNFINISHED = File.expand_path("../tmp/bench/run.json", __dir__)

    def initialize(arguments)
      @options = { seconds: 3, minutes: 25.0 }
      @names = parser.parse(arguments, into: @options)
      @options.merge!(rounds: 1, seconds: 1, minutes: 4.0) if @options[:quick]
      @names = ["all"] if @names.empty?
    rescue OptionParser::ParseError => e
      abort "bench: #{e.message} (try --help)"
    end

    def call
      require_relative "harness/report"
      work unless @options[:report]
      Report.write
      Report.print($stdout, Report.latest) unless @names == [SCALING]
    end

    private

    def work
      return measure unless @names == [SCALING]

      require_relative "harness/scaling"
      Scaling.new.call
    end

    def parser
      OptionParser.new do |parser|
        parser.banner = "Usage: bin/bench [options] [SCENARIO…]"
        parser.separator("\nScenarios: all (the default), or of these:\n#{list}\n" \
                         "Or, alone: scaling, how Ruvoy's costs grow with connections, bodies and so on.\n\nOptions:")
        parser.on("--quick", "one round of 1 s of each, in 4 minutes: to see that it works, not to compare")
        parser.on("--rounds N", Integer, "rounds of a scenario (#{FAST_ROUNDS} of fast, #{ROUNDS} of others)")
        parser.on("--seconds N", Integer, "how long a server is measured in a round (3; at most 15)")
        parser.on("--minutes N", Float, "after so long no further round begins (25)")
        parser.on("--servers A,B", Array, "only these, such as ruvoy,null,falcon,puma,envoy-puma")
        parser.on("--resume", "go on with a run that was interrupted")
        parser.on("--report", "only write the report of the last results anew")
      end
    end

    def list = Scenario.all.map { |scenario| format("  %-10s %s\n", scenario.name, scenario.title) }.join

    def scenarios
      unknown = @names - Scenario.all.map(&:name) - ["all"]
      abort "bench: no scenario #{unknown.join(", ")} (try --help)" unless unknown.empty?

      @names.include?("all") ? Scenario.all : Scenario.all.select { |scenario| @names.include?(scenario.name) }
    end

    def measure
      require_relative "harness/machine"
      require_relative "harness/run"
      results = if @options[:resume]
                  unfinished
                else
                  { "machine" => Machine.facts, "settings" => settings,
                    "scenarios" => {} }
                end
      Run.new(planned(results["settings"]), run_settings(results["settings"]), results, UNFINISHED).call
      Report.store(results, scratch: @options[:quick])
      File.delete(UNFINISHED)
    end

    # Rounds of different commits, or of servers with other settings, are nothing to put into one table.
    def unfinished
      results = JSON.parse(File.read(UNFINISHED))
      commit = results["machine"]["commit"]
      return results if commit == Machine.facts["commit"]

      abort "bench: the interrupted run is of commit #{commit}"
    rescue Errno::ENOENT
      abort "bench: there is no interrupted run"
    end

    def settings
      rounds = scenarios.to_h do |scenario|
        [scenario.name, @options[:rounds] || (scenario.name == "fast" ? FAST_ROUNDS : ROUNDS)]
      end
      { "rounds" => rounds, "seconds" => @options[:seconds].clamp(1, MAX_SECONDS),
        "trials" => @options[:quick] ? 1 : 2, "servers" => @options[:servers] }
    end

    def planned(settings) = Scenario.all.select { |scenario| settings["rounds"].key?(scenario.name) }

    def run_settings(settings)
      deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + (@options[:minutes] * 60)
      Run::Settings.new(deadline:, **settings.transform_keys(&:to_sym))
    end
  end
end

Bench::Main.new(ARGV).call
