# frozen_string_literal: true

# Medians, spreads, and the rule by which one server is said to be faster than another.

module Bench
  # The rule was fixed before anything was measured: a difference is claimed only if throughput and p99 both differ, in
  # the same direction, by more than 5% and by more than the spread of either server's rounds.
  module Statistics
    LEAST_DIFFERENCE = 0.05

    # What one server did in one scenario, over the rounds that count.
    Summary = Struct.new(:name, :rounds, :void, :rps, :spread, :p50_us, :p99_us, :p99_spread, :cpu_us, :threads_us,
                         :peak_kib, keyword_init: true)

    module_function

    # @param name [String] the server's
    # @param samples [Array<Hash>] of its rounds; those with a "void" do not count
    # @return [Summary, nil] nil: no round counts
    def summary(name, samples)
      valid = samples.reject { |sample| sample["void"] }
      return if valid.empty?

      kinds = valid.flat_map { |sample| sample["cpu_us"].keys }.uniq
      Summary.new(name:, rounds: valid.size, void: samples.size - valid.size, **figures(valid),
                  threads_us: kinds.to_h { |kind| [kind, median(valid.map { per_request(_1, kind) })] },
                  peak_kib: valid.map { |sample| sample["peak_kib"] }.max)
    end

    def figures(valid)
      rates = valid.map { |sample| sample["requests"] / sample["seconds"] }
      tails = valid.map { |sample| sample["p99_us"] }
      { rps: median(rates), spread: spread(rates), p50_us: median(valid.map { |sample| sample["p50_us"] }),
        p99_us: median(tails), p99_spread: spread(tails),
        cpu_us: median(valid.map { |sample| sample["cpu_us"].values.sum.to_f / sample["requests"] }) }
    end

    def per_request(sample, kind) = sample["cpu_us"].fetch(kind, 0).to_f / sample["requests"]

    # @return [Float] the middle value
    def median(values) = quantile(values, 0.5)

    # @return [Float] the distance between the quartiles, as a part of the median; 0 for a single value
    def spread(values)
      return 0.0 if values.size < 2

      (quantile(values, 0.75) - quantile(values, 0.25)) / median(values)
    end

    def quantile(values, part)
      sorted = values.sort
      place = part * (sorted.size - 1)
      below = sorted[place.floor].to_f
      below + ((sorted[place.ceil] - below) * (place - place.floor))
    end

    # @param one [Summary]
    # @param other [Summary]
    # @return [Symbol] :faster, :slower or :undecided, for `one`; the latter too where there was one round only
    def verdict(one, other)
      return :undecided if [one.rounds, other.rounds].min < 3

      rate = direction(one.rps / other.rps, [one.spread, other.spread].max)
      tail = direction(other.p99_us / one.p99_us, [one.p99_spread, other.p99_spread].max)
      return :undecided unless rate == tail

      { 1 => :faster, -1 => :slower }.fetch(rate, :undecided)
    end

    # @return [Integer] 1: clearly more, -1: clearly less, 0: neither
    def direction(ratio, spread)
      least = 1 + [LEAST_DIFFERENCE, spread].max
      return 1 if ratio > least

      ratio < 1 / least ? -1 : 0
    end
  end
end
