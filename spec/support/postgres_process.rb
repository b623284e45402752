# frozen_string_literal: true

# A real PostgreSQL on a free loopback port, with its data in a temporary directory, run by an unprivileged user.

require "etc"
require "pg"
require_relative "server_process"

class PostgresProcess < ServerProcess
  # It refuses to run as root.
  USER = "nobody"
  ATTEMPTS = 5
  SETTINGS = { listen_addresses: "127.0.0.1", unix_socket_directories: "", max_connections: 64, shared_buffers: "16MB",
               fsync: "off", dynamic_shared_memory_type: "mmap" }.freeze

  class << self
    # @return [String, nil] why there can be none
    def missing
      if programs.nil?
        "PostgreSQL's server is not installed: it is part of bin/packages.txt"
      elsif Process.euid.zero? && !user?
        "PostgreSQL refuses to run as root, and this user namespace has no other user"
      end
    end

    # @return [String, nil] the directory of the newest version's programs; Debian keeps them off PATH
    def programs
      directories = Dir["/usr/lib/postgresql/*/bin"].sort_by { |path| path[/\d+/].to_i }.reverse
      [*directories, *ENV.fetch("PATH", "").split(":")].find { |path| File.executable?(File.join(path, "initdb")) }
    end

    # The command that runs another one unprivileged.
    def unprivileged
      return [] unless Process.euid.zero?

      user = Etc.getpwnam(USER)
      ["setpriv", "--reuid=#{user.uid}", "--regid=#{user.gid}", "--clear-groups"]
    end

    private

    def user?
      uid = Etc.getpwnam(USER).uid
      File.readlines("/proc/self/uid_map").map(&:split).any? do |first, _, count|
        uid.between?(first.to_i, first.to_i + count.to_i - 1)
      end
    end
  end

  def initialize
    super
    # Outside of the specs' directory, into which the user must not look.
    @data = Dir.mktmpdir("ruvoy-postgres")
    File.chown(Etc.getpwnam(USER).uid, nil, @data) if Process.euid.zero?
    create
    start
  end

  # @return [String] for PG.connect
  def url = "postgresql://ruvoy@127.0.0.1:#{port}/postgres"

  # Another may take the free port first: then it ends, and another one is tried.
  def wait_until_ready
    attempts = ATTEMPTS
    begin
      wait_for_boot("PostgreSQL answers") { answers? }
    rescue RuntimeError
      raise if running? || (attempts -= 1).zero?

      start
      retry
    end
  end

  # Runs the block with a connection of the spec's own.
  def connect
    connection = PG.connect(url)
    yield connection
  ensure
    connection&.close
  end

  # Ends it and its clients' sessions at once.
  def stop
    signal(:INT) if running?
    super
  ensure
    FileUtils.remove_entry(@data, true)
  end

  private

  def program(name) = [*self.class.unprivileged, File.join(self.class.programs, name)]

  def create
    options = %w[--username=ruvoy --auth=trust --encoding=UTF8 --no-sync --no-instructions]
    return if system(*program("initdb"), "--pgdata", @data, *options, chdir: @data, %i[out err] => log_path)

    raise "initdb failed\n#{log_tail}"
  end

  def start
    LIVE.delete(self)
    @exit_status = nil
    @port = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }
    settings = { port: @port, **SETTINGS }.flat_map { |name, value| ["-c", "#{name}=#{value}"] }
    spawn_server({}, *program("postgres"), "-D", @data, *settings)
  end

  def answers?
    connect { true }
  rescue PG::ConnectionBad
    nil
  end
end
