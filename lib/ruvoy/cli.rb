# frozen_string_literal: true

# The command line: reads the arguments, then prints something or hands over to the launcher.

require "optparse"
require "socket"

module Ruvoy
  # `ruvoy [options] [config.ru]`
  class CLI
    # What the arguments asked for; see {CLI#parser} for what each means.
    # `upstreams` has {Cluster}s by name; `context` the namespaces of metadata, or nil.
    Options = Struct.new(:rackup, :address, :port, :admin_port, :concurrency, :trusted_hops, :log_level, :upstreams,
                         :context, keyword_init: true)

    # Envoy's log levels.
    LOG_LEVELS = %w[trace debug info warning error critical off].freeze

    # @param arguments [Array<String>] the arguments of the command, without its name
    # @param out [IO] where answers go
    # @param err [IO] where errors and the line that names the address go
    def initialize(arguments, out: $stdout, err: $stderr)
      @arguments = arguments
      @out = out
      @err = err
      @action = :launch
      @options = Options.new(rackup: "config.ru", address: "127.0.0.1", port: 8080, concurrency: 1, trusted_hops: 0,
                             upstreams: {})
    end

    # Does what the arguments say; does not return if that is to serve, because Envoy then takes the process over.
    # @return [Integer] the exit status: 0, or 1 after one line of error
    def run
      parse
      send(@action)
      0
    rescue OptionParser::ParseError, Error => e
      @err.puts "ruvoy: #{e.message.gsub(/\s*\n\s*/, " ")}"
      1
    end

    private

    def launch = Launcher.new(checked_options).launch

    def print_config = @out.puts(Bootstrap.new(checked_options, Launcher.find_module).to_yaml)

    def print_version = @out.puts("ruvoy #{VERSION}")

    def print_help = @out.puts(parser.help)

    def parse
      rackup, *others = parser.parse(@arguments)
      raise UsageError, "one rackup at a time: #{others.first} is too many" if others.any?

      @options.rackup = rackup if rackup
    end

    def checked_options
      @options.rackup = File.expand_path(@options.rackup)
      raise UsageError, "no rackup at #{@options.rackup}" unless File.file?(@options.rackup)

      @options.address = resolve(@options.address)
      @options
    end

    # Envoy's listeners take addresses, not names.
    def resolve(address)
      Addrinfo.tcp(address.delete_prefix("[").delete_suffix("]"), nil).ip_address
    rescue SocketError
      raise UsageError, "#{address} is neither an address nor the name of one"
    end

    def parser
      @parser ||= OptionParser.new("Usage: ruvoy [options] [config.ru]") do |parser|
        parser.summary_width = 26
        parser.separator "\nServes a Rack application from inside Envoy.\n\n"
        listening(parser)
        extending(parser)
        running(parser)
        answering(parser)
      end
    end

    def listening(parser)
      parser.on("-p", "--port PORT", "port to listen on (8080); 0 takes a free one") do |value|
        @options.port = integer(value, 0..65_535)
      end
      parser.on("-a", "--address ADDRESS", "address to listen on (127.0.0.1)") { |value| @options.address = value }
      parser.on("--admin-port PORT", "port of Envoy's admin interface, on loopback (off)") do |value|
        @options.admin_port = integer(value, 0..65_535)
      end
    end

    def extending(parser)
      parser.on("--upstream NAME=URL", "service that env[\"ruvoy.upstream\"] may call; may be given again") do |value|
        cluster = Cluster.parse(value)
        raise UsageError, "--upstream #{cluster.name} is there twice" if @options.upstreams.key?(cluster.name)

        @options.upstreams[cluster.name] = cluster
      end
      parser.on("--context[=NAMESPACES]", Array, "env[\"ruvoy.context\"], with these namespaces of metadata") do |value|
        @options.context = value || []
      end
    end

    def running(parser)
      parser.on("--trusted-hops N", "proxies in front whose X-Forwarded-For is believed (0)") do |value|
        @options.trusted_hops = integer(value, 0..100)
      end
      parser.on("--concurrency N", "Envoy's workers (1); Ruby runs on one thread anyway") do |value|
        @options.concurrency = integer(value, 1..1024)
      end
      parser.on("--log-level LEVEL", LOG_LEVELS, "Envoy's log level (warning, and info for Ruvoy's lines)") do |value|
        @options.log_level = value
      end
    end

    def answering(parser)
      parser.on("--print-config", "print Envoy's configuration and exit") { @action = :print_config }
      parser.on("-v", "--version", "print the version and exit") { @action = :print_version }
      parser.on("-h", "--help", "print this and exit") { @action = :print_help }
    end

    def integer(value, range)
      number = Integer(value, 10, exception: false)
      return number if range.cover?(number)

      raise OptionParser::InvalidArgument, value
    end
  end
end
