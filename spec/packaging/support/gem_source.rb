# frozen_string_literal: true

# A gem source in a directory: the gems under test, and what they depend on packed anew from what is installed here.

require "fileutils"
require "rubygems/package"
require "zlib"

class GemSource
  # What a gem of this kind holds for running it.
  RUNNING = "{lib,exe,bin}/**/*"

  # @return [String] where it lies
  attr_reader :directory

  # @param directory [String] an empty one
  # @param gems [Array<String>] paths of gems to offer
  # @param abi [String] of the Ruby that will install from here
  def initialize(directory, gems, abi: RUBY_VERSION[/\d+\.\d+/])
    @directory = directory
    @abi = abi
    FileUtils.mkdir_p("#{directory}/gems")
    FileUtils.cp(gems, "#{directory}/gems")
    gems.each { |path| Packages.specification(path).runtime_dependencies.each { |dependency| offer(dependency) } }
    write_index
  end

  def url = "file://#{directory}"

  # @return [Array<String>] the names of the gems that the others depend on
  def dependencies = packed.keys

  private

  def packed = (@packed ||= {})

  # Packs a dependency and its own; a gem that comes with Ruby is there already.
  def offer(dependency)
    return if packed.key?(dependency.name) || with_ruby?(dependency)

    spec = dependency.to_spec
    packed[dependency.name] = true
    pack(spec)
    spec.runtime_dependencies.each { |other| offer(other) }
  end

  def with_ruby?(dependency)
    Gem::Specification.default_stubs.any? { |stub| dependency.matches_spec?(stub) }
  end

  def pack(spec)
    stage = "#{directory}/stage/#{spec.full_name}"
    FileUtils.mkdir_p(stage)
    FileUtils.cp_r(Dir["#{spec.full_gem_path}/{lib,exe,bin}"], stage)
    copy = spec.dup
    copy.extensions = []
    compiled(spec).each { |path| FileUtils.cp(path, "#{stage}/lib") && copy.platform = Gem::Platform.local }
    copy.files = Dir.glob(RUNNING, base: stage).select { |name| File.file?("#{stage}/#{name}") }
    build(copy, stage, "#{directory}/gems/#{copy.full_name}.gem")
  end

  # The extensions, if they are for the Ruby that will install; io-event also goes without.
  def compiled(spec)
    return [] if spec.extensions.empty? || !RUBY_VERSION.start_with?("#{@abi}.")

    Dir["#{spec.extension_dir}/*.so"]
  end

  def build(spec, stage, path)
    quietly { Dir.chdir(stage) { Gem::Package.build(spec, true, false, path) } }
  end

  def quietly
    Gem::DefaultUserInteraction.use_ui(Gem::SilentUI.new) { yield }
  end

  # What RubyGems and Bundler read of a source: the names, and a specification for each.
  def write_index
    specs = Dir["#{directory}/gems/*.gem"].map { |path| Packages.specification(path) }
    FileUtils.mkdir_p("#{directory}/quick/Marshal.4.8")
    names = specs.map { |spec| [spec.name, spec.version, spec.original_platform.to_s] }
    %w[specs latest_specs].each { |name| write_names(name, names) }
    write_names("prerelease_specs", [])
    specs.each do |spec|
      File.binwrite("#{directory}/quick/Marshal.4.8/#{spec.original_name}.gemspec.rz",
                    Zlib::Deflate.deflate(Marshal.dump(spec)))
    end
  end

  def write_names(name, names)
    Zlib::GzipWriter.open("#{directory}/#{name}.4.8.gz") { |io| io.write(Marshal.dump(names)) }
  end
end
