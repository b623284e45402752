# frozen_string_literal: true

# The Envoy binaries that the module must run on: a colon-separated list in RUVOY_ENVOYS.
module Envoys
  module_function

  # @return [Hash{String => String}] version => path
  def all
    @all ||= ENV.fetch("RUVOY_ENVOYS", "").split(":").to_h { |path| [Ruvoy::Launcher.envoy_version(path), path] }
  end

  # The reason for skipping.
  def missing = "RUVOY_ENVOYS lists no Envoy binaries: set it to paths of Envoy 1.39 and 1.40, separated by colons"
end
