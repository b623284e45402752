# frozen_string_literal: true

# A machine of somebody who only installs: a home, a gem directory, and a PATH with Ruby and little else.

require "fileutils"
require "open3"
require "support/server_process"

class Installation
  # What `gem`, `bundle` and their scripts call; no compiler.
  TOOLS = %w[env sh uname ls mkdir rm].freeze

  # @return [String] where everything of it lies
  attr_reader :directory

  # @param directory [String] an empty one
  # @param ruby [String] the Ruby that is there, as `ruby`
  # @param tools [Array<String>] what PATH has besides
  def initialize(directory, ruby: RbConfig.ruby, tools: [])
    @directory = directory
    @ruby = ruby
    FileUtils.mkdir_p([home, gem_home, path, application])
    # RubyGems writes the name that this Ruby has into scripts.
    ["ruby", File.basename(ruby)].uniq.each { |name| File.symlink(ruby, "#{path}/#{name}") }
    (TOOLS + tools).each { |name| link(name) }
    %w[gem bundle].each { |name| link_script(name) }
  end

  def home = "#{directory}/home"
  def gem_home = "#{directory}/gems"
  def path = "#{directory}/bin"
  def application = "#{directory}/application"

  # @return [Hash{String => String}] all of the environment
  def environment
    { "HOME" => home, "GEM_HOME" => gem_home, "GEM_PATH" => gem_home, "PATH" => "#{gem_home}/bin:#{path}",
      "LANG" => "C.UTF-8", "TMPDIR" => directory }
  end

  # Runs a command in the application's directory.
  # @return [Array(String, Process::Status)] what it printed, and how it ended
  def run(*command, **environment)
    Open3.capture2e(self.environment.merge(environment.transform_keys(&:to_s)), *command,
                    chdir: application, unsetenv_others: true)
  end

  # The same, for one that must succeed.
  def run!(*command, **)
    output, status = run(*command, **)
    status.success? ? output : raise("#{command.join(" ")} ended with #{status.exitstatus}:\n#{output}")
  end

  # @param source [GemSource] the only one it knows
  # @param names [Array<String>]
  def install(source, *names)
    run!("gem", "install", "--no-document", "--clear-sources", "--source", source.url, *names)
  end

  # @return [Array<String>] every file below the gem directory
  def files
    Dir.glob("**/*", File::FNM_DOTMATCH, base: gem_home).select { |name| File.file?("#{gem_home}/#{name}") }.sort
  end

  # Starts `ruvoy` on a free port.
  # @return [InstalledServer] ready
  def serve(*command, rackup:)
    File.write("#{application}/config.ru", rackup)
    InstalledServer.new(self, command).tap(&:wait_until_ready)
  end

  private

  def link(name)
    places = ENV.fetch("PATH").split(":").map { |directory| "#{directory}/#{name}" }
    found = places.find { |place| File.executable?(place) } or raise "no #{name} on PATH"
    File.symlink(found, "#{path}/#{name}")
  end

  # Ruby's own scripts, run by this very Ruby.
  def link_script(name)
    script = "#{path}/#{name}"
    File.write(script, "#!/bin/sh\nexec #{@ruby} #{RbConfig::CONFIG["bindir"]}/#{name} \"$@\"\n")
    File.chmod(0o755, script)
  end
end

# `ruvoy` as it was installed.
class InstalledServer < ServerProcess
  def initialize(installation, command)
    super()
    @pid = Process.spawn(installation.environment, *command, chdir: installation.application, unsetenv_others: true,
                                                             in: File::NULL, %i[out err] => [log_path, "w"])
    LIVE << self
    RECENT << self
  end

  def wait_until_ready
    wait_for_boot("it names its address") { url }
    @port = url[/\d+\z/].to_i
    wait_for_boot("it answers") { get("/") }
  end

  def url = log[%r{ serves (http://\S+)}, 1]

  # @return [String, nil] the body, nil while nobody listens
  def get(path)
    output, status = Open3.capture2("curl", "--silent", "--noproxy", "*", "--max-time", "30", "#{url}#{path}")
    output if status.success?
  end
end
