# frozen_string_literal: true

# `rake gem`: the source gem; and what every gem is packed with, so that the same input gives the same bytes.

require "fileutils"
require "rubygems/package"

# A gem packed from copies whose names, modes and times say nothing of the machine.
class Packing
  # RubyGems' own default, for a build that names no date.
  EPOCH = "315619200"

  # @param spec [Gem::Specification] without its files
  # @param files [Hash{String => String}] path in the gem => where its content lies
  def initialize(spec, files)
    @spec = spec
    @files = files.sort.to_h
  end

  # @return [String] the path of the gem
  def build
    path = File.expand_path("pkg/#{@spec.full_name}.gem")
    FileUtils.mkdir_p(File.dirname(path))
    stage
    @spec.files = @files.keys
    at_the_epoch { Dir.chdir(directory) { Gem::Package.build(@spec, false, false, path) } }
    path
  end

  private

  def directory = "tmp/packing/#{@spec.full_name}"

  def stage
    FileUtils.rm_rf(directory)
    @files.each do |name, source|
      target = File.join(directory, name)
      FileUtils.mkdir_p(File.dirname(target))
      FileUtils.cp(source, target)
      File.chmod(File.executable?(source) ? 0o755 : 0o644, target)
    end
  end

  # Not for longer: rb_sys takes the variable for RubyGems compiling an extension.
  def at_the_epoch
    before = ENV.fetch("SOURCE_DATE_EPOCH", nil)
    ENV["SOURCE_DATE_EPOCH"] ||= EPOCH
    yield
  ensure
    ENV["SOURCE_DATE_EPOCH"] = before
  end
end

# The gemspec is read again for each gem, because packing changes it.
def load_gemspec(name) = Gem::Specification.load(File.expand_path(name)).dup

def files_of(spec) = spec.files.to_h { |name| [name, name] }

desc "Pack the source gem"
task :gem do
  spec = load_gemspec("ruvoy.gemspec")
  Packing.new(spec, files_of(spec)).build
end

CLOBBER.include("pkg", "tmp/packing")
