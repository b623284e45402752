# frozen_string_literal: true

# Falcon, where its gem is installed or FALCON_PATH names checkouts: of it and of what it needs besides, with colons.

require "support/server_process"
require_relative "certificate"

module Bench
  # One instance in one process, as a Ruvoy is.
  class FalconProcess < ServerProcess
    PROGRAM = File.expand_path("../falcon_server.rb", __dir__)

    class << self
      # @return [String, nil] why there is none
      def missing
        return "no gem falcon, and FALCON_PATH is not set" if paths.empty? && Gem::Specification.find_all_by_name("falcon").empty?

        absent = paths.reject { |path| File.directory?(path) }
        "FALCON_PATH names #{absent.join(", ")}, which is not there" unless absent.empty?
      end

      # @return [Array<String>] directories for Ruby's load path
      def paths = ENV.fetch("FALCON_PATH", "").split(":").map { |path| File.join(path, "lib") }
    end

    # @param scenario [Scenario]
    def initialize(scenario)
      super()
      flags = self.class.paths.flat_map { |path| ["-I", path] }
      flags << "-I" << File.expand_path("../../lib", __dir__)
      tls = scenario.tls ? [Certificate.path, Certificate.key] : []
      # Without the bundle, which knows neither checkouts nor what they need.
      spawn_server({ "RUBYOPT" => nil }, RbConfig.ruby, *flags, PROGRAM, scenario.rackup, *tls)
    end

    def wait_until_ready
      @port = wait_for_boot("Falcon names its port") { log[/^listens on (\d+)/, 1] }.to_i
      wait_for_boot("Falcon accepts") { accepts? }
    end

    private

    def accepts?
      TCPSocket.new("127.0.0.1", port).close
      true
    rescue Errno::ECONNREFUSED
      false
    end
  end
end
