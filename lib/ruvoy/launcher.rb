# frozen_string_literal: true

# Finds Envoy and the module, makes sure that the ports are free, and replaces this process with Envoy.

require "rbconfig"
require "rubygems"
require "socket"
require_relative "handover"

module Ruvoy
  # Starts Envoy in place of the running process, so that signals and the exit status are Envoy's own.
  class Launcher
    # The gem that carries Envoy's binary, and where the binary may lie in it.
    ENVOY_GEM = "ruvoy-envoy"
    ENVOY_IN_GEM = %w[bin/envoy exe/envoy libexec/envoy].freeze

    # The oldest Envoy that has what the module calls, and the oldest of those that it was never tried on.
    OLDEST_ENVOY = "1.39"
    UNTRIED_ENVOY = "1.41"

    MODULE_FILE = "libruvoy_fiber.so"

    # Where a dynamic loader looks without being told.
    LOADER_DIRECTORY = %r{\A(/usr)?/lib(32|64|x32)?(/[^/]+-linux-[^/]+)?\z}

    private_constant :ENVOY_GEM, :ENVOY_IN_GEM, :OLDEST_ENVOY, :UNTRIED_ENVOY, :MODULE_FILE, :LOADER_DIRECTORY

    class << self
      # @param environment [#[]] where `RUVOY_ENVOY` and `PATH` are looked up
      # @return [String] the path of Envoy's binary: `RUVOY_ENVOY`, else the gem's, else the one on PATH
      # @raise [UsageError] if there is none, or `RUVOY_ENVOY` names something else
      def find_envoy(environment = ENV)
        named = environment["RUVOY_ENVOY"].to_s
        return named_envoy(named) unless named.empty?

        envoy_of_gem || envoy_on_path(environment["PATH"].to_s) ||
          raise(UsageError, "no Envoy: set RUVOY_ENVOY, install the gem #{ENVOY_GEM}, or put envoy on PATH")
      end

      # @param path [String] Envoy's binary
      # @return [String] its version, such as "1.39.3"
      # @raise [UsageError] if it does not run, is not Envoy, or is too old
      def envoy_version(path)
        output = IO.popen([path, "--version"], err: File::NULL, &:read)
        version = output[%r{version: \h+/(\d+\.\d+\.\d+)}, 1] or raise UsageError, "#{path} is not Envoy"
        return version if Gem::Version.new(version) >= Gem::Version.new(OLDEST_ENVOY)

        raise UsageError, "#{path} is Envoy #{version}, but Ruvoy needs #{OLDEST_ENVOY} or newer"
      rescue SystemCallError => e
        raise UsageError, "cannot run #{path}: #{e.message}"
      end

      # @param directories [Array<String>] where to look for `ABI/libruvoy_fiber.so`
      # @return [String] the absolute path of the module built for the running Ruby
      # @raise [UsageError] if there is none
      def find_module(directories = module_directories)
        abi = RUBY_VERSION[/\A\d+\.\d+/]
        # A precompiled gem has one more for a libruby that goes by another name than Ruby's own, as Debian's does.
        names = [File.join(abi, RbConfig::CONFIG["RUBY_SO_NAME"].to_s, MODULE_FILE), File.join(abi, MODULE_FILE)]
        found = directories.product(names).map { |parts| File.join(parts) }.find { |path| File.file?(path) }
        return found if found

        others = directories.flat_map { |directory| Dir.glob("*/#{MODULE_FILE}", base: directory) }
        others = others.map { |path| File.dirname(path) }.uniq.sort_by { |name| Gem::Version.new(name) }
        raise UsageError, "no module for Ruby #{abi} (#{RUBY_VERSION} runs; there are modules for: " \
                          "#{others.empty? ? "none" : others.join(", ")})"
      end

      # @param environment [#[]] the environment as it is
      # @return [Hash{String => String}] what Envoy's environment needs besides, so that it can load libruby; if
      #   `LD_LIBRARY_PATH` changes, `RUVOY_LD_LIBRARY_PATH` has its old value, for the application's children
      # @raise [UsageError] if the running Ruby has no shared libruby
      def environment(environment = ENV)
        directory = libruby_directory
        return {} if directory.match?(LOADER_DIRECTORY)

        old = environment[Handover::LOADER_PATH].to_s
        { Handover::LOADER_PATH => old.empty? ? directory : "#{directory}:#{old}", Handover::FORMER_LOADER_PATH => old }
      end

      private

      def named_envoy(path)
        return File.expand_path(path) if executable?(path)

        raise UsageError, "RUVOY_ENVOY is #{path}, which is not an executable file"
      end

      def envoy_of_gem
        directory = Gem::Specification.find_by_name(ENVOY_GEM).gem_dir
        ENVOY_IN_GEM.map { |name| File.join(directory, name) }.find { |path| executable?(path) }
      rescue Gem::MissingSpecError
        nil
      end

      def envoy_on_path(directories)
        directories.split(File::PATH_SEPARATOR).map { |directory| File.expand_path("envoy", directory) }
                   .find { |path| executable?(path) }
      end

      def executable?(path) = File.file?(path) && File.executable?(path)

      # RubyGems may keep what it compiled apart from the Ruby code.
      def module_directories
        [__dir__, *$LOAD_PATH.map { |directory| File.join(directory.to_s, "ruvoy") }].uniq
      end

      def libruby_directory
        file, *directories = RbConfig::CONFIG.values_at("LIBRUBY_SO", "archlibdir", "libdir")
        found = directories.compact.find { |directory| File.exist?(File.join(directory, file)) }
        return found if found && RbConfig::CONFIG["ENABLE_SHARED"] == "yes"

        raise UsageError, "this Ruby has no shared libruby; Ruvoy needs one built with --enable-shared"
      end
    end

    # @param options [CLI::Options] what the command line asked for, checked
    def initialize(options)
      @options = options
    end

    # Replaces this process with Envoy; returns only by an exception.
    # @raise [UsageError] if Envoy, the module or a port cannot be had
    def launch
      envoy = self.class.find_envoy
      version = self.class.envoy_version(envoy)
      module_path = self.class.find_module
      environment = self.class.environment
      # They close on exec, just before Envoy binds the ports itself.
      @reservations = reserve_ports
      # The server prints it once the application is loaded.
      environment[Handover::ANNOUNCEMENT] = announcement(version)
      warn_of_untried(version)
      exec(environment, envoy, *arguments(module_path))
    rescue SystemCallError => e
      raise UsageError, "cannot run #{envoy}: #{e.message}"
    end

    private

    def arguments(module_path)
      # Without hot restart there is no shared memory that two of them could fight for, and nothing stays behind.
      ["--config-yaml", Bootstrap.new(@options, module_path).to_json, "--concurrency", @options.concurrency.to_s,
       "--disable-hot-restart", *log_levels]
    end

    # Unless asked for more: the module's lines, and no whole configuration after a failed start, whose reason Envoy
    # prints in any case.
    def log_levels
      return ["--log-level", @options.log_level] if @options.log_level

      ["--log-level", "warning", "--component-log-level", "dynamic_modules:info,main:off"]
    end

    def announcement(envoy_version)
      admin = ", admin on http://127.0.0.1:#{@options.admin_port}" if @options.admin_port
      "ruvoy #{VERSION} serves http://#{authority(@options.address, @options.port)}#{admin} " \
        "(ruby #{RUBY_VERSION}, envoy #{envoy_version})"
    end

    # Envoy promises that a module runs on the version that it was built for and on the next one.
    def warn_of_untried(envoy_version)
      return if Gem::Version.new(envoy_version) < Gem::Version.new(UNTRIED_ENVOY)

      warn "ruvoy: Envoy #{envoy_version} is newer than those that Ruvoy #{VERSION} was built for " \
           "(before #{UNTRIED_ENVOY}); it may not load the module"
    end

    def authority(address, port) = "#{address.include?(":") ? "[#{address}]" : address}:#{port}"

    def reserve_ports
      if @options.admin_port == @options.port && @options.port.positive?
        raise UsageError, "the application and the admin interface cannot share port #{@options.port}"
      end

      application = reserve(@options.address, @options.port)
      @options.port = application.local_address.ip_port
      return [application] unless @options.admin_port

      admin = reserve("127.0.0.1", @options.admin_port)
      @options.admin_port = admin.local_address.ip_port
      [application, admin]
    end

    # Binds without listening, so that no client is accepted and then dropped.
    def reserve(address, port)
      target = Addrinfo.tcp(address, port)
      socket = Socket.new(target.afamily, :STREAM)
      # As Envoy does; a free port is better chosen without, so that no other process chooses it as well.
      socket.setsockopt(:SOCKET, :REUSEADDR, true) if port.positive?
      socket.setsockopt(:IPV6, :V6ONLY, address != "::") if target.ipv6?
      socket.bind(target)
      socket
    rescue Errno::EADDRINUSE
      raise UsageError, "#{authority(address, port)} is in use"
    rescue SystemCallError => e
      raise UsageError, "cannot listen on #{authority(address, port)}: #{e.class.new.message}"
    end
  end
end
