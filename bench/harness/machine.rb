# frozen_string_literal: true

# What results belong to: the machine, the programs and the commit.

require "ruvoy"

module Bench
  # Facts as strings, in the order in which a reader wants them.
  module Machine
    GEMS = %w[async io-event rack puma async-http protocol-rack sinatra].freeze

    module_function

    # @return [Hash{String => String}]
    def facts
      {
        "processor" => processor, "cores" => cores, "memory" => memory,
        "kernel" => File.read("/proc/sys/kernel/osrelease").chomp,
        "ruby" => RUBY_DESCRIPTION, "yjit" => defined?(RubyVM::YJIT) ? "there" : "not in this build",
        "envoy" => Ruvoy::Launcher.envoy_version(Ruvoy::Launcher.find_envoy), **gems, "falcon" => falcon,
        "ruvoy" => Ruvoy::VERSION, "commit" => ENV.fetch("RUVOY_COMMIT", "unknown"),
        "date" => Time.now.utc.strftime("%F %H:%M UTC")
      }
    end

    def processor = File.read("/proc/cpuinfo")[/^(?:model name|CPU part)\s*:\s*(.*)/, 1].to_s

    # What this process may use, which is less than there is where cpusets are set.
    def cores
      require "etc"
      Etc.nprocessors.to_s
    end

    def memory = "#{File.read("/proc/meminfo")[/^MemTotal:\s*(\d+)/, 1].to_i / 1_048_576} GiB"

    # The newest that is installed, which is what a rackup outside a bundle gets.
    def gems
      GEMS.to_h { |name| [name, Gem::Specification.find_all_by_name(name).map(&:version).max.to_s] }
    end

    def falcon
      files = ENV.fetch("FALCON_PATH", "").split(":").map { |path| File.join(path, "lib/falcon/version.rb") }
      file = files.find { |path| File.file?(path) }
      return File.read(file)[/VERSION = "(.*)"/, 1] if file

      Gem::Specification.find_all_by_name("falcon").map(&:version).max.to_s
    end
  end
end
