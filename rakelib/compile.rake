# frozen_string_literal: true

# `rake compile`: the dynamic module of the running Ruby, in lib/ruvoy/<abi>/libruvoy_fiber.so.

require "rb_sys/extensiontask"

# What a container of rb-sys-dock compiles for; the tasks of rake-compiler that it calls are then there too.
CROSS_PLATFORM = ENV.fetch("RUBY_TARGET", nil)

# No gemspec here: rakelib/native.rake packs the modules, and in another way than rake-compiler would.
RbSys::ExtensionTask.new("ruvoy") do |ext|
  # Envoy looks for lib<name>.so, and the crate's library has another name than the crate.
  ext.define_singleton_method(:binary) { |_platform| "libruvoy_fiber.so" }
  ext.lib_dir = CROSS_PLATFORM ? "lib/ruvoy" : "lib/ruvoy/#{RUBY_VERSION[/\d+\.\d+/]}"
  ext.source_pattern = "../envoy-sdk/**/*.{rs,toml}"
end
