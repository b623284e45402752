# frozen_string_literal: true

# The Python tools that specs use: python3-h2 of the system, and those of spec/python.txt, installed once from PyPI.

require "digest"
require "fileutils"
require "open3"

module Python
  LIST = File.expand_path("../python.txt", __dir__)

  # The reason for skipping.
  MISSING = "the tools of spec/python.txt cannot be had: pip and PyPI are needed once"

  module_function

  # @return [Boolean] whether the tools are there, if need be after installing them
  def tools?
    @tools = install if @tools.nil?
    @tools
  end

  # @return [Array(String, Process::Status)] what the command printed, standard error among it, and how it ended
  def run(*command)
    Open3.capture2e(environment, *command)
  end

  # Runs a program of spec/python.
  def program(name, *arguments)
    run("python3", File.expand_path("../python/#{name}.py", __dir__), *arguments.map(&:to_s))
  end

  def environment = { "PYTHONPATH" => directory, "PYTHONDONTWRITEBYTECODE" => "1" }

  def directory
    File.join(Dir.home, ".cache", "ruvoy-python-#{Digest::SHA256.hexdigest(File.read(LIST) + version)[0, 12]}")
  end

  # Compiled packages fit one version of Python.
  def version = @version ||= Open3.capture2("python3", "--version").first

  def install
    return true if File.directory?(directory)

    partial = "#{directory}.#{Process.pid}"
    _, status = Open3.capture2e("python3", "-m", "pip", "install", "--quiet", "--no-deps",
                                "--root-user-action", "ignore", "--target", partial, "--requirement", LIST)
    return false unless status.success?

    File.rename(partial, directory)
    true
  rescue SystemCallError
    File.directory?(directory)
  ensure
    FileUtils.rm_rf(partial) if partial
  end
end
