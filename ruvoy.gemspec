# frozen_string_literal: true

# The gem `ruvoy`: Ruby code, command line and module; as source here, precompiled per platform by rakelib/native.rake.

require_relative "lib/ruvoy/version"

Gem::Specification.new do |spec|
  spec.name = "ruvoy"
  spec.version = Ruvoy::VERSION
  spec.summary = "A Ruby application runtime inside Envoy"
  spec.description = "Envoy carries HTTP, Ruby carries Rack: a dynamic module embeds CRuby in a stock Envoy " \
                     "and serves a Rack application with a fiber per request."
  spec.authors = ["The Ruvoy authors"]
  spec.license = "Apache-2.0"

  spec.required_ruby_version = ">= 3.3"
  spec.metadata = { "rubygems_mfa_required" => "true", "cargo_crate_name" => "ruvoy" }

  spec.files = Dir.chdir(__dir__) do
    Dir["lib/**/*.rb", "exe/*", "sig/**/*.rbs", "ext/**/*.{rs,rb,toml}", "Cargo.{toml,lock}",
        "{README,CHANGELOG}.md", "LICENSE"]
  end
  spec.bindir = "exe"
  spec.executables = ["ruvoy"]
  spec.extensions = ["ext/ruvoy/extconf.rb"]

  spec.add_dependency "async", "~> 2.0"
  spec.add_dependency "rack", "~> 3.0"
  # Only compiling takes it: the precompiled gems do without, and the crate of the same version must follow.
  spec.add_dependency "rb_sys", "~> 0.9.130"
end
