# frozen_string_literal: true

# A child process that serves HTTP on loopback: its log, its figures from /proc, and a bounded end.

require "fileutils"
require "socket"
require "tmpdir"
require_relative "waiting"

class ServerProcess
  include Waiting

  STOP_S = 30
  # rubocop:disable Style/MutableConstant
  LIVE = [] # every process that has not been stopped yet
  RECENT = [] # those that the current example started
  # rubocop:enable Style/MutableConstant
  DIRECTORY = Dir.mktmpdir("ruvoy-spec")

  class << self
    # Starts one, and stops it after the block if there is a block.
    def start(**)
      server = new(**)
      server.wait_until_ready
      return server unless block_given?

      begin
        yield server
      ensure
        server.stop
      end
    end

    def stop_all = LIVE.dup.each(&:stop)
  end

  # @return [Integer] the port it listens on
  attr_reader :port
  attr_reader :pid, :log_path

  # @return [String] a directory of its own for files that the specs and the application share
  attr_reader :directory

  def initialize
    @directory = Dir.mktmpdir(self.class.name, DIRECTORY)
    @log_path = File.join(@directory, "log")
  end

  def log = File.binread(log_path).force_encoding(Encoding::UTF_8).scrub

  # The end of the log, for a failure message.
  def log_tail(lines = 60) = "--- #{log_path}\n#{log.lines.last(lines).join}"

  def rss_kib = proc_status("VmRSS").to_i
  def thread_count = proc_status("Threads").to_i
  def fd_count = Dir.children("/proc/#{pid}/fd").size

  # @param key [String] a field of /proc/PID/status
  def proc_status(key) = File.read("/proc/#{pid}/status")[/^#{key}:\s*(.*)$/, 1]

  # @return [Process::Status, nil] how it ended, nil while it runs
  def exit_status
    @exit_status ||= Process.wait2(pid, Process::WNOHANG)&.last
  end

  def running? = exit_status.nil?

  def signal(name) = Process.kill(name, pid)

  # Asks it to end and waits; what does not end in time is killed.
  # @return [Process::Status]
  def stop
    signal(:TERM) if running?
    wait_for_exit(STOP_S)
  rescue Waiting::TimedOut
    signal(:KILL)
    wait_for_exit(STOP_S)
  ensure
    LIVE.delete(self)
  end

  def wait_for_exit(seconds = STOP_S)
    wait_until("process #{pid} ends", seconds: seconds) { exit_status }
  end

  private

  def spawn_server(environment, *command)
    @pid = Process.spawn({ "RUVOY_SPEC_DIR" => @directory, **environment }, *command,
                         in: File::NULL, %i[out err] => [@log_path, "w"])
    LIVE << self
    RECENT << self
  end

  # Waits for a value of the block, unless the process ends first.
  def wait_for_boot(what, &block)
    wait_until(what, seconds: 90) do
      raise "the server ended (#{exit_status}) before #{what}\n#{log_tail}" unless running?

      block.call
    end
  end
end
