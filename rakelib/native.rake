# frozen_string_literal: true

# `rake native`: the precompiled gem of this platform, with a module for each Ruby at hand. `rake native:<platform>`
# makes it in a container of rb-sys-dock, for each Ruby that is supported.

require "fileutils"
require "rbconfig"

# The modules of one platform on their way into its gem.
class NativeGem
  MODULE = "libruvoy_fiber.so"
  RUBIES = %w[3.3 3.4 4.0].freeze
  PLATFORMS = %w[x86_64-linux aarch64-linux].freeze
  # Only compiling takes these.
  NOT_NEEDED = %r{\Aext/|\ACargo\.}

  include Rake::DSL
  extend Rake::DSL

  class << self
    def platform = "#{RbConfig::CONFIG["host_cpu"]}-linux"

    def directory(platform) = "tmp/modules/#{platform}"

    # The other Rubies at hand: those that RUVOY_RUBIES names, with colons, and `ruby3.4` and the like on PATH.
    # @return [Hash{String => String}] ABI => path
    def other_rubies
      directories = ENV.fetch("PATH").split(":")
      named = ENV.fetch("RUVOY_RUBIES", "").split(":")
      found = directories.product(RUBIES).map { |directory, abi| File.join(directory, "ruby#{abi}") }
      rubies = (named + found).select { |path| File.executable?(path) }.to_h { |path| [abi_of(path), path] }
      rubies.except(RUBY_VERSION[/\d+\.\d+/])
    end

    # Compiles the module of another Ruby, which needs the gem rb_sys, as `gem install` would.
    def compile(abi, ruby)
      directory = File.expand_path("tmp/ruby-#{abi}")
      # The same target directory, so that only what depends on Ruby is compiled anew.
      environment = { "RB_SYS_CARGO_TARGET_DIR" => File.expand_path(ENV.fetch("CARGO_TARGET_DIR", "target")) }
      FileUtils.mkdir_p(directory)
      # This Ruby's bundle is not the other's.
      Bundler.with_unbundled_env do
        Dir.chdir(directory) do
          sh environment, ruby, "-I.", "../../ext/ruvoy/extconf.rb"
          sh environment, "make"
        end
      end
      keep(abi, File.join(directory, MODULE))
    end

    def keep(abi, path, platform = self.platform)
      target = File.join(directory(platform), abi, MODULE)
      FileUtils.mkdir_p(File.dirname(target))
      FileUtils.cp(path, target)
    end

    private

    def abi_of(ruby)
      Bundler.with_unbundled_env { IO.popen([ruby, "-e", "print RUBY_VERSION[/\\d+\\.\\d+/]"], &:read) }
    end
  end

  def initialize(platform)
    @platform = platform
    @modules = Dir["#{self.class.directory(platform)}/*/#{MODULE}"].to_h { |path| [path.split("/")[-2], path] }
    raise "no modules of #{platform} to pack" if @modules.empty?
  end

  # @return [String] the path of the gem
  def build
    spec = load_gemspec("ruvoy.gemspec")
    spec.platform = @platform
    spec.extensions.clear
    spec.dependencies.delete_if { |dependency| dependency.name == "rb_sys" }
    spec.required_ruby_version = [">= #{abis.first}", "< #{abis.last.succ}.dev"]
    Packing.new(spec, files(spec)).build
  end

  private

  def abis = @modules.keys.sort_by { |abi| Gem::Version.new(abi) }

  def files(spec)
    files = files_of(spec).reject { |name, _source| name.match?(NOT_NEEDED) }
    files["THIRD-PARTY.md"] = ThirdParty.new(@platform).write("tmp/third-party-#{@platform}.md")
    abis.inject(files) { |all, abi| all.merge(variants(abi)) }
  end

  # The loader knows libruby by its file's name, and Debian gives it another than Ruby itself does: one module for each.
  def variants(abi)
    names = { "libruby.so.#{abi}" => "lib/ruvoy/#{abi}/#{MODULE}",
              "libruby-#{abi}.so.#{abi}" => "lib/ruvoy/#{abi}/ruby-#{abi}/#{MODULE}" }
    names.to_h { |libruby, path| [path, linked_to(libruby, abi)] }
  end

  def linked_to(libruby, abi)
    source = @modules.fetch(abi)
    target = "tmp/modules/#{@platform}/#{abi}/#{libruby}/#{MODULE}"
    FileUtils.mkdir_p(File.dirname(target))
    FileUtils.cp(source, target)
    current = `patchelf --print-needed #{source}`[/^libruby\S*/] or raise "#{source} does not need libruby"
    sh "patchelf", "--replace-needed", current, libruby, target
    target
  end
end

namespace :native do
  desc "Compile the module of the running Ruby for the native gem"
  task module: :compile do
    abi = RUBY_VERSION[/\d+\.\d+/]
    NativeGem.keep(abi, "lib/ruvoy/#{abi}/#{NativeGem::MODULE}")
  end

  desc "Compile the modules of each other Ruby at hand"
  task :others do
    NativeGem.other_rubies.each { |abi, ruby| NativeGem.compile(abi, ruby) }
  end

  desc "Pack the modules that are compiled into the gem of this platform"
  task(:package) { NativeGem.new(NativeGem.platform).build }

  NativeGem::PLATFORMS.each do |platform|
    desc "Make the native gem for #{platform} in a container of rb-sys-dock"
    task platform do
      rm_rf NativeGem.directory(platform)
      sh "rb-sys-dock", "--platform", platform, "--ruby-versions", NativeGem::RUBIES.join(","), "--",
         "bundle install && bundle exec rake native:contained"
      NativeGem.new(platform).build
    end
  end

  # What runs in the container.
  if CROSS_PLATFORM
    # Its Rubies are there to be linked statically: this gives the linker their shared libraries back.
    task :shared_libruby do
      Dir["/usr/local/rake-compiler/ruby/*/**/libruby.so.?.?"].each do |path|
        sh "sudo", "ln", "-sf", File.basename(path), File.join(File.dirname(path), "libruby.so")
      end
    end

    task contained: ["shared_libruby", "compile:#{CROSS_PLATFORM}"] do
      Dir["tmp/#{CROSS_PLATFORM}/stage/lib/ruvoy/*/#{NativeGem::MODULE}"].each do |path|
        NativeGem.keep(path.split("/")[-2], path, CROSS_PLATFORM)
      end
    end
  end

  task(:clean) { rm_rf NativeGem.directory(NativeGem.platform) }
end

desc "Make the native gem of this platform, with a module for each Ruby at hand"
task native: %w[native:clean native:module native:others native:package]

CLOBBER.include("tmp/modules", *NativeGem::RUBIES.map { |abi| "tmp/ruby-#{abi}" })
