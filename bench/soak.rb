# frozen_string_literal: true

# The command line of bin/soak: mixed traffic in cycles; after each, what the process holds must be what it held before.

require "optparse"

$LOAD_PATH.unshift(*%w[../spec ../lib].map { |path| File.expand_path(path, __dir__) })
require_relative "harness/scenario"
require_relative "harness/machine"
require_relative "harness/report"
require_relative "harness/traffic"
require "support/envoy_process"

module Bench
  # Runs the cycles and judges the figures.
  class Soak
    # What the server may hold more than after the first cycle.
    GROWTH = { "heap slots" => 20_000, "resident MiB" => 40, "descriptors" => 4, "threads" => 2, "Ruby threads" => 0,
               "fibers" => 40, "in flight" => 0 }.freeze
    COLUMNS = ["after cycle", *GROWTH.keys, "requests", "refused", "cancelled", "wrong"].freeze

    def initialize(arguments)
      @options = { seconds: 1800, cycle: 20 }
      parser.parse!(arguments, into: @options)
      @rows = []
    rescue OptionParser::ParseError => e
      abort "soak: #{e.message} (try --help)"
    end

    # @return [Boolean] whether nothing grew and nothing went wrong
    def call
      EnvoyProcess.start(rackup: File.join(DIRECTORY, "apps/soak.ru")) do |server|
        puts COLUMNS.join("\t")
        row(server, "start", {})
        cycles(server)
      end
      conclude
    end

    private

    def parser
      OptionParser.new do |parser|
        parser.banner = "Usage: bin/soak [options]"
        parser.on("--seconds N", Integer, "how long (1800)")
        parser.on("--cycle N", Integer, "seconds of traffic between two looks (20)")
        parser.on("--record", "write the figures into bench/RESULTS.md")
      end
    end

    def cycles(server)
      deadline = now + @options[:seconds]
      number = 0
      while now < deadline
        traffic = Traffic.new(server, @options[:cycle])
        row(server, number += 1, traffic.call)
      end
    end

    # Looks once everything is at rest.
    def row(server, name, counts)
      Waiting.wait_until("nothing is in flight") { figures(server)["in flight"] == 1 }
      Waiting.wait_until_steady("descriptors") { server.fd_count }
      figures = held(server)
      @rows << [name, *GROWTH.keys.map { |key| figures[key] },
                *%w[requests refused cancelled wrong].map { |key| counts.fetch(key, 0) }]
      puts @rows.last.join("\t")
      $stdout.flush
    end

    def held(server)
      figures = figures(server)
      figures.merge("in flight" => figures["in flight"] - 1, "resident MiB" => server.rss_kib / 1024,
                    "descriptors" => server.fd_count, "threads" => server.thread_count)
    end

    # The request that asks is in flight itself.
    def figures(server) = JSON.parse(Net::HTTP.get("127.0.0.1", "/figures", server.port))

    def conclude
      faults = grown + wrong
      summary = "#{@rows.size - 1} cycles of #{@options[:cycle]} s: " \
                "#{faults.empty? ? "nothing grew, nothing went wrong" : faults.join("; ")}."
      puts summary
      record(summary) if @options[:record]
      faults.empty?
    end

    # Against the first cycle, since a server that has just started holds less.
    def grown
      first, last = @rows.values_at(1, -1)
      GROWTH.filter_map.with_index(1) do |(name, allowed), column|
        growth = last[column] - first[column]
        "#{name} grew by #{growth}" if growth > allowed
      end
    end

    def wrong
      count = @rows.sum(&:last)
      count.zero? ? [] : ["#{count} answers were wrong"]
    end

    def record(summary)
      facts = Machine.facts
      Report.write_json(Report::SOAK, { "summary" => "#{summary} Commit #{facts["commit"]}, #{facts["date"]}.",
                                        "columns" => COLUMNS, "rows" => @rows })
      Report.write
    end

    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end
end

exit(Bench::Soak.new(ARGV).call)
