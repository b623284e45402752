# frozen_string_literal: true

# Turns raw results into bench/RESULTS.md, charts, and a table for the terminal.

require "fileutils"
require "json"
require_relative "chart"
require_relative "prose"
require_relative "statistics"
require_relative "targets"

module Bench
  # Everything in the report is computed from the JSON files beside it, so that it can be written anew at any time.
  module Report
    RUN = File.join(RESULTS, "run.json")
    SCALING = File.join(RESULTS, "scaling.json")
    SOAK = File.join(RESULTS, "soak.json")
    PAGE = File.join(DIRECTORY, "RESULTS.md")
    SCRATCH = File.expand_path("../../tmp/bench/quick.json", __dir__)

    COLUMNS = ["", "requests/s", "spread", "p50 ms", "p99 ms", "CPU µs", "worker", "owner", "peak MiB"].freeze
    HEADER = format("  %-26s %10s %7s %8s %8s %8s %8s %8s %8s  Ruvoy has", *COLUMNS).freeze

    # One server's line of a table.
    Row = Struct.new(:summary, :label, :judgement)

    module_function

    # @param results [Hash] of a run
    # @param scratch [Boolean] whether the run was only a trial, which must not replace the results that are kept
    def store(results, scratch: false)
      FileUtils.rm_f(SCRATCH)
      write_json(scratch ? SCRATCH : RUN, results)
    end

    def write_json(path, value)
      FileUtils.mkdir_p(File.dirname(path))
      File.write(path, "#{JSON.pretty_generate(value)}\n")
    end

    # @return [Hash] the results of the last run, a trial among them
    def latest = read(SCRATCH) || read(RUN) || abort("bench: there are no results yet")

    def read(path)
      JSON.parse(File.read(path)) if File.file?(path)
    end

    # Writes the page and the charts of the results that are kept.
    def write
      run, scaling, soak = [RUN, SCALING, SOAK].map { |path| read(path) }
      return unless run || scaling || soak

      Chart.write(run) if run
      File.write(PAGE, Prose.page(run, scaling, soak))
    end

    # @return [Hash{String => Statistics::Summary}] family of servers => what it did, of those with a valid round
    def summaries(entry)
      entry["chosen"].to_h do |family, name|
        [family, Statistics.summary(name, entry["rounds"].filter_map { |round| round[name] })]
      end.compact
    end

    # @return [Array<Row>] the fastest first
    def rows(entry)
      summaries = summaries(entry)
      ours = summaries["ruvoy"]
      summaries.map { |family, summary| Row.new(summary, label(summary.name), judge(family, ours, summary)) }
               .sort_by { |row| -row.summary.rps }
    end

    def label(name)
      require_relative "servers"
      Servers.all.find { |server| server.name == name }.label
    end

    def judge(family, ours, theirs)
      return "" if ours.nil? || family == "ruvoy"

      ratio = format("%.2f×", ours.rps / theirs.rps)
      family == "null" ? ratio : "#{ratio}, #{Statistics.verdict(ours, theirs)}"
    end

    # @return [Array<Array>] target and value, of those that were measured
    def targets(run)
      Targets::ALL.filter_map do |target|
        entry = run["scenarios"][target.scenario] or next
        value = target.value(summaries(entry))
        [target, value] if value
      end
    end

    # The terminal's form.
    def print(output, run)
      run["scenarios"].each_value do |entry|
        output.puts "", "#{entry["title"]} (#{entry["rounds"].size} rounds)", HEADER
        rows(entry).each { |row| output.puts line(row) }
      end
      print_targets(output, run)
    end

    def line(row)
      summary = row.summary
      void = summary.void.zero? ? "" : " (#{summary.void} void)"
      format("  %-26s %10d %6d%% %8.2f %8.2f %8.1f %8.1f %8.1f %8d  %s%s", row.label, summary.rps, summary.spread * 100,
             summary.p50_us / 1000.0, summary.p99_us / 1000.0, summary.cpu_us, summary.threads_us.fetch("worker", 0.0),
             summary.threads_us.fetch("owner", 0.0), summary.peak_kib / 1024, row.judgement, void)
    end

    def print_targets(output, run)
      output.puts "", "targets"
      targets(run).each do |target, value|
        output.puts format("  %-8s %-44s %6.3f  %-8s %s", target.scenario, target.text, value, target.bound,
                           target.met?(value) ? "met" : "missed")
      end
    end
  end
end
