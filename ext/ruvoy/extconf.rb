# frozen_string_literal: true

# Writes the Makefile that builds the dynamic module for the running Ruby, on `rake compile` and on `gem install`.

require "mkmf"
require "rb_sys/mkmf"

abi = RbConfig::CONFIG.fetch("ruby_version")[/\A\d+\.\d+/]

if RbConfig::CONFIG["ENABLE_SHARED"] != "yes"
  abort "ruvoy: this Ruby has no shared libruby (#{RbConfig.ruby}); it takes one built with --enable-shared"
end

create_rust_makefile("ruvoy/#{abi}/ruvoy_fiber") { |builder| builder.profile = :release }

# Envoy looks for lib<name>.so, where Ruby would have an extension without the prefix.
makefile = File.read("Makefile")
renamed = makefile.sub(/^DLLIB = /, "DLLIB = lib")
abort "ruvoy: the Makefile that rb_sys wrote names no DLLIB" if renamed == makefile
File.write("Makefile", renamed)
