# frozen_string_literal: true

# The command line as a user meets it: options, exit statuses, and the Envoy that it becomes.

require "support/integration"
require "net/http"
require "open3"
require "rbconfig"
require "ruvoy"
require "socket"
require "yaml"

# `ruvoy` in a working directory and a temporary directory of its own.
class CommandLine < ServerProcess
  ROOT = File.expand_path("../..", __dir__)
  ECHO = <<~RUBY
    run lambda { |env|
      seen = env.slice("REMOTE_ADDR", "PATH_INFO", "HTTP_HOST", "SERVER_PORT").values.join(" ")
      [200, { "content-type" => "text/plain" }, [seen]]
    }
  RUBY

  # A user's environment: not of the bundle that the specs may run with.
  UNBUNDLED = ENV.keys.grep(/\A(BUNDLE|RUBYOPT\z|RUBYLIB\z)/).to_h { |name| [name, nil] }.freeze

  attr_reader :temporary_directory

  # @param arguments [Array<String>] of `ruvoy`
  # @param prefix [Array<String>] what runs it
  # @param environment [Hash] what is changed in the environment
  # @param rackup [String, nil] the text of config.ru
  def initialize(*arguments, prefix: [RbConfig.ruby, "#{ROOT}/exe/ruvoy"], environment: {}, rackup: ECHO)
    super()
    @command = [*prefix, *arguments]
    @temporary_directory = Dir.mkdir(File.join(directory, "tmp")).then { File.join(directory, "tmp") }
    @environment = { **UNBUNDLED, "TMPDIR" => temporary_directory, **environment }
    File.write(File.join(directory, "config.ru"), rackup) if rackup
  end

  # Runs one that ends by itself.
  # @return [Array(Integer, String, String)] exit status, standard output and standard error
  def run
    out = File.join(directory, "out")
    launch(out: out, err: log_path)
    [wait_for_exit(60).exitstatus, File.read(out), log]
  ensure
    stop
  end

  # Starts one that serves.
  # @return [CommandLine] itself, ready
  def serve
    launch(%i[out err] => log_path)
    wait_for_boot("it serves") { url && get("/") }
    @port = URI(url).port
    self
  end

  # What the line at the start names.
  def url = log[%r{^ruvoy \S+ serves (http://[^\s,]+)}, 1]
  def admin_url = log[%r{admin on (http://[^\s,]+)}, 1]

  # @return [Array(Integer, String), nil] status and body, nil while nobody listens
  def get(path, headers = {})
    fields = headers.flat_map { |name, value| ["--header", "#{name}: #{value}"] }
    output, status = Open3.capture2("curl", "--silent", "--include", "--globoff", "--path-as-is", "--noproxy", "*",
                                    "--max-time", "60", *fields, url + path)
    return unless status.success?

    head, body = output.split("\r\n\r\n", 2)
    [head[/ (\d+)/, 1].to_i, body]
  end

  private

  def launch(**streams)
    @pid = Process.spawn(@environment, *@command, chdir: directory, in: File::NULL, **streams)
    LIVE << self
  end
end

RSpec.describe "ruvoy" do
  def ruvoy(*, **) = CommandLine.new(*, **)

  def serve(*, **)
    server = ruvoy(*, **).serve
    yield server
  ensure
    server&.stop
  end

  # The contract of every refusal: status 1, nothing on standard output, one line, no backtrace.
  def expect_refusal(command, message)
    status, out, err = command.run
    expect([status, out, err.lines.size]).to eq([1, "", 1]), err
    expect(err).to match(message)
  end

  def listening
    server = TCPServer.new("127.0.0.1", 0)
    yield server.local_address.ip_port.to_s
  ensure
    server&.close
  end

  describe "answers and refusals" do
    it "prints its version" do
      %w[-v --version].each { |option| expect(ruvoy(option).run).to eq([0, "ruvoy #{Ruvoy::VERSION}\n", ""]) }
    end

    it "prints its options" do
      %w[-h --help].each do |option|
        status, out, err = ruvoy(option).run
        expect([status, err]).to eq([0, ""])
        expect(out).to include("--port PORT", "--address ADDRESS", "--admin-port PORT", "--print-config")
      end
    end

    it "prints a configuration that Envoy takes" do
      status, out, err = ruvoy("--print-config", "-p", "0", "--admin-port", "0", environment: { "PATH" => "" }).run
      expect([status, err]).to eq([0, ""])
      expect(YAML.safe_load(out).keys).to include("admin", "static_resources")

      output, status = Open3.capture2e(Ruvoy::Launcher.find_envoy, "--mode", "validate", "--config-yaml", out)
      expect(output).to include("OK")
      expect(status.exitstatus).to eq(0)
    end

    it "refuses bad options" do
      [%w[--nope], %w[-p http], %w[-p 65536], %w[--admin-port], %w[--concurrency 0], %w[a.ru b.ru]].each do |arguments|
        expect_refusal(ruvoy(*arguments), /\Aruvoy: .*#{Regexp.escape(arguments.last)}/)
      end
    end

    it "refuses a missing rackup, named or not" do
      expect_refusal(ruvoy("nowhere.ru"), %r{no rackup at .*/nowhere\.ru$})
      expect_refusal(ruvoy(rackup: nil), %r{no rackup at .*/config\.ru$})
    end

    it "refuses to go on without a module for the running Ruby" do
      command = ruvoy
      copy = File.join(command.directory, "copy")
      FileUtils.mkdir_p(["#{copy}/exe", "#{copy}/lib/ruvoy/2.7"])
      FileUtils.cp("#{CommandLine::ROOT}/exe/ruvoy", "#{copy}/exe")
      FileUtils.cp("#{CommandLine::ROOT}/lib/ruvoy.rb", "#{copy}/lib")
      FileUtils.cp(Dir["#{CommandLine::ROOT}/lib/ruvoy/*.rb"], "#{copy}/lib/ruvoy")
      FileUtils.touch("#{copy}/lib/ruvoy/2.7/libruvoy_fiber.so")
      expect_refusal(ruvoy(prefix: [RbConfig.ruby, "#{copy}/exe/ruvoy"]),
                     /no module for Ruby #{RUBY_VERSION[/\A\d+\.\d+/]} \(#{RUBY_VERSION} runs; .*: 2\.7\)/)
    end

    it "refuses to go on without Envoy, and names the three places" do
      expect_refusal(ruvoy(environment: { "RUVOY_ENVOY" => nil, "PATH" => "/nonexistent" }),
                     /RUVOY_ENVOY.*ruvoy-envoy.*PATH/)
      expect_refusal(ruvoy(environment: { "RUVOY_ENVOY" => "/nonexistent/envoy" }), /is not an executable file/)
      expect_refusal(ruvoy(environment: { "RUVOY_ENVOY" => "/bin/true" }), %r{/bin/true is not Envoy})
    end

    it "refuses a port in use" do
      listening do |port|
        expect_refusal(ruvoy("-p", port), /127\.0\.0\.1:#{port} is in use/)
        expect_refusal(ruvoy("-p", "0", "--admin-port", port), /127\.0\.0\.1:#{port} is in use/)
      end
    end

    it "ends with a status of 1 if the application does not boot" do
      command = ruvoy("-p", "0", rackup: "raise 'no database today'")
      status, _, err = command.run
      expect(status).to eq(1)
      expect(err).to include("no database today", "RuntimeError")
      expect(err).not_to include("static_resources")
      expect(Dir.children(command.temporary_directory)).to be_empty
    end
  end

  describe "serving" do
    it "serves config.ru of the working directory on a free port that it prints" do
      serve("-p", "0") do |server|
        expect(server.url).to match(%r{\Ahttp://127\.0\.0\.1:\d+\z})
        expect(server.get("/path")).to eq([200, "127.0.0.1 /path 127.0.0.1:#{server.port} #{server.port}"])
        expect(server.log).to match(/ serves .*\(ruby #{Regexp.escape(RUBY_VERSION)}, envoy 1\./)
      end
    end

    it "serves a rackup that is named, on a port that is named" do
      port = listening(&:itself)
      rackup = 'run ->(_) { [200, {}, ["other"]] }'
      command = ruvoy("--port", port, "other.ru", rackup: nil)
      File.write(File.join(command.directory, "other.ru"), rackup)
      expect(command.serve.get("/")).to eq([200, "other"])
      expect(command.port.to_s).to eq(port)
    ensure
      command&.stop
    end

    it "serves the example" do
      serve("-p", "0", "#{CommandLine::ROOT}/examples/hello/config.ru", rackup: nil) do |server|
        expect(server.get("/")).to eq([200, "hello from ruby #{RUBY_VERSION}\n"])
      end
    end

    it "becomes Envoy, ends by SIGTERM with Envoy's status, and leaves nothing in the temporary directory" do
      serve("-p", "0") do |server|
        expect(File.readlink("/proc/#{server.pid}/exe")).to eq(File.realpath(Ruvoy::Launcher.find_envoy))
        expect(Dir.children(server.temporary_directory)).to be_empty
        server.signal(:TERM)
        expect(server.wait_for_exit.exitstatus).to eq(0)
        expect(Dir.children(server.temporary_directory)).to be_empty
      end
    end

    it "serves on IPv6's loopback, with brackets or without" do
      %w[::1 [::1]].each do |address|
        serve("-p", "0", "-a", address) do |server|
          expect(server.url).to match(%r{\Ahttp://\[::1\]:\d+\z})
          expect(server.get("/")).to eq([200, "::1 / [::1]:#{server.port} #{server.port}"])
        end
      end
    end

    it "serves IPv4 too on IPv6's wildcard" do
      serve("-p", "0", "-a", "::") do |server|
        %w[127.0.0.1 ::1].each do |address|
          body = Net::HTTP.new(address, server.port).get("/").body
          expect(body.split.first).to eq(address)
        end
      end
    end

    it "keeps the admin interface on loopback whatever the address" do
      serve("-p", "0", "-a", "0.0.0.0", "--admin-port", "0") do |server|
        admin = URI(server.admin_url)
        expect(admin.host).to eq("127.0.0.1")
        expect(Net::HTTP.get(admin.host, "/ready", admin.port)).to eq("LIVE\n")
        expect(listeners(server.pid)).to include("00000000:#{hex(server.port)}", "0100007F:#{hex(admin.port)}")
      end
    end

    it "has no admin interface unless it is asked for" do
      serve("-p", "0") { |server| expect(listeners(server.pid)).to eq(["0100007F:#{hex(server.port)}"]) }
    end

    it "runs beside another one" do
      serve("-p", "0") do |first|
        serve("-p", "0") do |second|
          expect(first.port).not_to eq(second.port)
          [first, second].each { |server| expect(server.get("/").first).to eq(200) }
          expect_refusal(ruvoy("-p", first.port.to_s), /is in use/)
        end
        expect(first.get("/").first).to eq(200)
      end
    end

    it "has as many workers as it is told to" do
      serve("-p", "0", "--admin-port", "0", "--concurrency", "2") do |server|
        admin = URI(server.admin_url)
        stats = Net::HTTP.get(admin.host, "/stats?filter=^server.concurrency$", admin.port)
        expect(stats).to eq("server.concurrency: 2\n")
        expect(server.get("/").first).to eq(200)
      end
    end

    it "logs as much as it is told to" do
      serve("-p", "0", "--log-level", "info") { |server| expect(server.log).to include("starting main dispatch loop") }
      serve("-p", "0") { |server| expect(server.log).not_to include("starting main dispatch loop") }
    end

    # @return [String, nil] nil also for a descriptor that was closed meanwhile
    def socket_inode(path)
      File.readlink(path)[/\Asocket:\[(\d+)\]/, 1]
    rescue Errno::ENOENT
      nil
    end

    # TCP sockets of a process that listen, as /proc/net/tcp has them.
    def listeners(pid)
      inodes = Dir.glob("/proc/#{pid}/fd/*").filter_map { |path| socket_inode(path) }
      rows = File.readlines("/proc/net/tcp").drop(1).map(&:split)
      rows.select { |row| row[3] == "0A" && inodes.include?(row[9]) }.map { |row| row[1] }.uniq
    end

    def hex(port) = format("%04X", port)
  end

  describe "at the edge" do
    before(:context) { @server = ruvoy("-p", "0").serve }
    after(:context) { @server&.stop }

    attr_reader :server

    it "does not take the client's address from a header" do
      expect(server.get("/", "X-Forwarded-For" => "192.0.2.7").last).to start_with("127.0.0.1 ")
    end

    it "takes it from as many proxies as it is told to trust" do
      serve("-p", "0", "--trusted-hops", "2") do |behind|
        expect(behind.get("/", "X-Forwarded-For" => "192.0.2.9, 192.0.2.7, 192.0.2.8").last).to start_with("192.0.2.7 ")
      end
    end

    it "rejects header names with underscores" do
      expect(server.get("/", "X_Forwarded_For" => "192.0.2.7").first).to eq(400)
    end

    it "resolves dot segments, and leaves double and escaped slashes alone" do
      expect(path_of("/a/../b//c%2Fd/./e")).to eq("/b//c%2Fd/e")
      expect(path_of("/%2e%2e/etc")).to eq("/etc")
    end

    it "serves HTTP/1.0 without a Host" do
      expect(raw("GET /old HTTP/1.0\r\n\r\n")).to match(%r{\AHTTP/1\.0 200 .* /old localhost 80\z}m)
    end

    it "ignores an upgrade that it does not offer" do
      request = "GET /plain HTTP/1.1\r\nhost: a\r\nconnection: upgrade, close\r\nupgrade: other/1\r\n\r\n"
      expect(raw(request)).to match(%r{\AHTTP/1\.1 200 .* /plain a 80}m)
    end

    def path_of(path) = server.get(path).last.split[1]

    def raw(request)
      TCPSocket.open("127.0.0.1", server.port) { |socket| socket.write(request) && socket.read }
    end
  end

  describe "under Bundler" do
    it "serves the application with its bundle" do
      binaries = Dir.mktmpdir("binaries", ServerProcess::DIRECTORY)
      environment = { "BUNDLE_SYSTEM_BINDIR" => binaries, "PATH" => "#{binaries}:#{ENV.fetch("PATH")}" }
      command = ruvoy("-p", "0", prefix: %w[bundle exec ruvoy], environment: environment,
                                 rackup: "require 'greeting'\nrun ->(_) { [200, {}, [Greeting::TEXT]] }")
      bundle(command.directory, environment)
      expect(command.serve.get("/")).to eq([200, "hello from the bundle"])
    ensure
      command&.stop
    end

    # A gem that only the bundle knows.
    def bundle(directory, environment)
      FileUtils.mkdir_p("#{directory}/greeting/lib")
      File.write("#{directory}/greeting/lib/greeting.rb", 'module Greeting; TEXT = "hello from the bundle"; end')
      File.write("#{directory}/greeting/greeting.gemspec", <<~RUBY)
        Gem::Specification.new("greeting", "1.0") { |spec| spec.summary = spec.authors = "a", spec.files = ["lib/greeting.rb"] }
      RUBY
      File.write("#{directory}/Gemfile", <<~RUBY)
        gem "greeting", path: "greeting"
        gem "ruvoy", path: #{CommandLine::ROOT.dump}
      RUBY
      output, status = Open3.capture2e({ **CommandLine::UNBUNDLED, **environment }, "bundle", "install", "--local",
                                       chdir: directory)
      expect(status).to be_success, output
    end
  end
end
