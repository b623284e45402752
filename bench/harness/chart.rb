# frozen_string_literal: true

# Draws the results as SVG: horizontal bars, a group for each scenario.

require "cgi"

module Bench
  # Throughput of all scenarios, each on a scale of its own, and CPU time of a request, by kind of thread.
  module Chart
    WIDTH = 860
    LABEL = 190
    BAR = 16
    GAP = 4
    HEAD = 30
    ROOM = WIDTH - LABEL - 150
    COLOURS = { "ruvoy" => "#c0392b", "ruvoy-yjit" => "#e67e22", "null" => "#95a5a6", "falcon" => "#2980b9",
                "puma" => "#27ae60", "envoy-puma" => "#8e44ad" }.freeze
    THREADS = { "worker" => "#7f8c8d", "owner" => "#c0392b", "other" => "#bdc3c7" }.freeze

    Bar = Struct.new(:label, :parts, :text) # parts: [[colour, value]]

    module_function

    # @param run [Hash]
    def write(run)
      entries = run["scenarios"].values.reject { |entry| Report.summaries(entry).empty? }
      File.write(File.join(RESULTS, "throughput.svg"), draw("requests/s, longer is better", entries, :rate))
      File.write(File.join(RESULTS, "cpu.svg"), draw("CPU time of a request in µs, shorter is better", entries, :cpu))
    end

    def rate(family, summary)
      Bar.new(Report.label(summary.name), [[COLOURS.fetch(family), summary.rps]],
              "#{Prose.thousands(summary.rps)} ± #{(summary.spread * 50).round}%")
    end

    def cpu(_family, summary)
      parts = THREADS.map { |kind, colour| [colour, summary.threads_us.fetch(kind, 0.0)] }
      Bar.new(Report.label(summary.name), parts, format("%.1f", summary.cpu_us))
    end

    def draw(title, entries, kind)
      y = HEAD
      groups = entries.map do |entry|
        bars = Report.summaries(entry).map { |family, summary| public_send(kind, family, summary) }
        y += HEAD
        group = group(entry["title"], bars, y)
        y += bars.size * (BAR + GAP)
        group
      end
      legend = kind == :cpu ? "worker grey, owner thread red, other threads light" : ""
      <<~SVG
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 #{WIDTH} #{y + HEAD}" font-family="sans-serif" font-size="12">
        <rect width="100%" height="100%" fill="white"/>
        #{text(10, 22, title, weight: "bold", size: 15)}
        #{text(LABEL + ROOM, 22, legend, anchor: "end")}
        #{groups.join("\n")}
        </svg>
      SVG
    end

    def group(title, bars, top)
      scale = ROOM / bars.map { |bar| bar.parts.sum(&:last) }.max.to_f
      lines = bars.each_with_index.map { |bar, index| bar(bar, top + (index * (BAR + GAP)), scale) }
      [text(10, top - 7, title, weight: "bold"), *lines].join("\n")
    end

    def bar(bar, top, scale)
      x = LABEL
      parts = bar.parts.map do |colour, value|
        width = value * scale
        x += width
        format(%(<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>), x - width, top, width, BAR, colour)
      end
      [text(LABEL - 8, top + 12, bar.label, anchor: "end"), *parts, text(x + 6, top + 12, bar.text)].join
    end

    def text(left, base, content, anchor: "start", weight: "normal", size: 12)
      format(%(<text x="%.1f" y="%d" text-anchor="%s" font-weight="%s" font-size="%d" fill="#222">%s</text>),
             left, base, anchor, weight, size, CGI.escapeHTML(content))
    end
  end
end
