# frozen_string_literal: true

# The text of bench/RESULTS.md.

module Bench
  # Every part says so where it was not measured.
  module Prose
    module_function

    # @return [String] the page
    def page(run, scaling, soak)
      [heading, *(run ? comparison(run) : ["## Comparison\n\nNot measured yet: `bin/bench all`."]),
       scaling(scaling), soak(soak)].join("\n\n").concat("\n")
    end

    def heading
      <<~TEXT.chomp
        # Results

        Written by `bin/bench`; everything here is computed from the JSON files in [results](results). To repeat it:
        `bin/bench all` (15 minutes), `bin/bench scaling` (2), `bin/soak` (30).
      TEXT
    end

    def comparison(run)
      ["## Comparison", machine(run["machine"]), method(run), charts, targets(run),
       *run["scenarios"].values.map { |entry| scenario(entry) }]
    end

    def machine(facts)
      generic(["", ""], facts.reject { |_, value| value.empty? }.to_a)
    end

    def method(run)
      <<~TEXT.gsub(/(?<!\n)\n(?!\n)/, " ").strip
        Every server runs on this machine beside the load generator (wrk with one thread, h2load for HTTP/2), one process each,
        Envoy with one worker, on a free port of loopback. In a round each server is measured for #{run["settings"]["seconds"]} s,
        in an order drawn anew; a round with an error or a timeout is void. The figures are medians of the rounds; "spread" is the
        distance of the quartiles. CPU is that of the server's threads for a request, from /proc. Of Puma 5:5 and 1:100 the one
        that was faster in the warm-up takes part. The machine's speed changes over time, so only ratios within one table mean
        something.

        A win is claimed ("faster") only if throughput and p99 both differ by more than the larger of 5% and the spread, over
        three rounds or more; that was fixed beforehand. Both clients wait for an answer before they ask again, so that a server
        that stalls is asked less and its p99 flattered.
      TEXT
    end

    def charts = "![Throughput](results/throughput.svg)\n\n![CPU time of a request](results/cpu.svg)"

    def targets(run)
      rows = Report.targets(run).map do |target, value|
        verdict = target.met?(value) ? "met" : "**missed**"
        verdict = "met, and what was hoped for" if target.hoped?(value)
        format("| %s | %s | %s | %.3f | %s |", target.scenario, target.text, target.bound, value, verdict)
      end
      "### Targets\n\n| scenario | Ruvoy's | asked for | measured | |\n|---|---|---|---|---|\n#{rows.join("\n")}"
    end

    def scenario(entry)
      title = "### #{entry["title"]}"
      title += "\n\n#{entry["note"][0].upcase}#{entry["note"][1..]}." if entry["note"]
      absent = entry["absent"].map { |label, why| "#{label} (#{why})" }
      absent = absent.empty? ? "" : "\n\nAbsent: #{absent.join(", ")}."
      "#{title}\n\n#{table(entry)}#{absent}"
    end

    def table(entry)
      head = "| server | requests/s | spread | p50 / p99 ms | CPU µs | worker / owner | peak MiB | Ruvoy has |\n" \
             "|---|---|---|---|---|---|---|---|\n"
      head + Report.rows(entry).map { |row| line(row) }.join("\n")
    end

    def line(row)
      summary = row.summary
      threads = summary.threads_us.values_at("worker", "owner").map { |us| us ? format("%.1f", us) : "–" }.join(" / ")
      name = summary.void.zero? ? row.label : "#{row.label} (#{summary.void} rounds void)"
      format("| %s | %s | %d%% | %.2f / %.2f | %.1f | %s | %d | %s |",
             name, thousands(summary.rps), summary.spread * 100, summary.p50_us / 1000.0, summary.p99_us / 1000.0,
             summary.cpu_us, threads, summary.peak_kib / 1024, row.judgement)
    end

    def thousands(number) = number.round.to_s.gsub(/(\d)(?=(\d{3})+$)/, "\\1,")

    def scaling(scaling)
      return "## Scaling\n\nNot measured yet: `bin/bench scaling`." if scaling.nil?

      tables = scaling["tables"].map do |table|
        "### #{table["title"]}\n\n#{table["note"]}\n\n#{generic(table["columns"], table["rows"])}"
      end
      ["## Scaling", "Commit #{scaling["machine"]["commit"]}, #{scaling["machine"]["date"]}; Ruvoy alone.",
       *tables].join("\n\n")
    end

    def soak(soak)
      return "## Soak\n\nNot run yet: `bin/soak`." if soak.nil?

      ["## Soak", soak["summary"], generic(soak["columns"], soak["rows"])].join("\n\n")
    end

    def generic(columns, rows)
      ["| #{columns.join(" | ")} |", "|#{"---|" * columns.size}", *rows.map do |row|
        "| #{row.join(" | ")} |"
      end].join("\n")
    end
  end
end
