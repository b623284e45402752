# frozen_string_literal: true

# What processes used, by thread, from /proc.

module Bench
  # CPU time comes from schedstat, in nanoseconds; where the kernel has none, from stat, in ticks of 10 ms.
  module Meter
    TICK_NS = 10_000_000
    # What threads call themselves, and what they are to a reader.
    KINDS = { /\Awrk:worker/ => "worker", /\Aruvoy owner/ => "owner" }.freeze

    module_function

    # @param pids [Array<Integer>]
    # @return [Hash{Array => Integer}] [kind, pid, tid] => nanoseconds of CPU time so far
    def cpu(pids)
      pids.each_with_object({}) do |pid, all|
        Dir.children("/proc/#{pid}/task").each do |tid|
          directory = "/proc/#{pid}/task/#{tid}"
          all[[kind(File.read("#{directory}/comm").chomp), pid, tid]] = nanoseconds(directory)
        rescue Errno::ENOENT, Errno::ESRCH
          next # a thread that has just ended
        end
      end
    end

    # @return [Hash{String => Float}] kind of thread => microseconds between two results of {cpu}
    def cpu_us(before, after)
      after.each_with_object(Hash.new(0.0)) do |(key, now), all|
        all[key.first] += (now - before.fetch(key, 0)) / 1000.0
      end
    end

    # @return [Integer] the most that the processes had resident so far, in KiB
    def peak_kib(pids) = pids.sum { |pid| status(pid, "VmHWM") }

    # @return [Integer] what they have resident now, in KiB
    def resident_kib(pids) = pids.sum { |pid| status(pid, "VmRSS") }

    def status(pid, key) = File.read("/proc/#{pid}/status")[/^#{key}:\s*(\d+)/, 1].to_i

    def kind(name) = KINDS.find { |pattern, _| pattern.match?(name) }&.last || "other"

    def nanoseconds(directory)
      File.read("#{directory}/schedstat").to_i
    rescue Errno::ENOENT
      fields = File.read("#{directory}/stat").rpartition(")").last.split
      (fields[11].to_i + fields[12].to_i) * TICK_NS
    end
  end
end
