# frozen_string_literal: true

# What Ruvoy is to reach, as ratios of medians within one run.

module Bench
  # The least (or most) that is asked for and what is hoped for.
  module Targets
    Target = Struct.new(:scenario, :text, :other, :least, :most, :hope, :figure, keyword_init: true) do
      # @return [Float, nil] nil: not measured
      def value(summaries)
        ours, theirs = summaries.values_at("ruvoy", other)
        figure.call(ours, theirs) if ours && theirs
      end

      def met?(value) = least ? value >= least : value <= most
      def hoped?(value) = hope && (least ? value >= hope : value <= hope)
      def bound = least ? "≥ #{least}" : "≤ #{most}"
    end

    RATE = ->(ours, theirs) { ours.rps / theirs.rps }
    CPU = ->(ours, theirs) { ours.cpu_us / theirs.cpu_us }
    WORKER = ->(ours, theirs) { ours.threads_us["worker"] / theirs.threads_us["worker"] }
    OWNER = ->(ours, theirs) { ours.threads_us["owner"] / theirs.threads_us["worker"] }

    ALL = [
      Target.new(scenario: "fast", text: "requests/s, of Envoy answering inline", other: "null", least: 0.8,
                 hope: 0.92, figure: RATE),
      Target.new(scenario: "fast", text: "worker's CPU, of the same", other: "null", most: 1.15, hope: 1.05,
                 figure: WORKER),
      Target.new(scenario: "fast", text: "owner thread's CPU, of the same's worker", other: "null", most: 0.765,
                 hope: 0.353, figure: OWNER),
      Target.new(scenario: "fast", text: "requests/s, of Falcon", other: "falcon", least: 2.5, hope: 3.2, figure: RATE),
      Target.new(scenario: "fast", text: "CPU of a request, of Falcon", other: "falcon", most: 0.55, figure: CPU),
      Target.new(scenario: "fast", text: "requests/s, of Puma", other: "puma", least: 4.0, hope: 5.0, figure: RATE),
      Target.new(scenario: "fast", text: "requests/s, of Envoy → Puma", other: "envoy-puma", least: 3.5, hope: 4.5,
                 figure: RATE),
      Target.new(scenario: "fast", text: "CPU of a request, of Envoy → Puma", other: "envoy-puma", most: 0.25,
                 figure: CPU),
      Target.new(scenario: "sleep10", text: "requests/s, of Falcon", other: "falcon", least: 1.7, figure: RATE),
      Target.new(scenario: "sleep10", text: "requests/s, of Puma", other: "puma", least: 3.5, figure: RATE),
      Target.new(scenario: "tls", text: "requests/s, of Falcon", other: "falcon", least: 2.5, figure: RATE),
      Target.new(scenario: "http2", text: "requests/s, of Falcon", other: "falcon", least: 2.5, figure: RATE)
    ].freeze
  end
end
