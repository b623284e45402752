# frozen_string_literal: true

# `rake compile`: the dynamic module of the running Ruby, in lib/ruvoy/<abi>/libruvoy_fiber.so.

require "rb_sys/extensiontask"

RbSys::ExtensionTask.new("ruvoy", GEMSPEC) do |ext|
  # Envoy looks for lib<name>.so, and the crate's library has another name than the crate.
  ext.define_singleton_method(:binary) { |_platform| "libruvoy_fiber.so" }
  ext.lib_dir = "lib/ruvoy/#{RUBY_VERSION[/\d+\.\d+/]}"
  ext.source_pattern = "../envoy-sdk/**/*.{rs,toml}"
end
