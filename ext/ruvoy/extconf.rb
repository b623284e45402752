# frozen_string_literal: true

# Writes the Makefile that builds the dynamic module for one Ruby, on `rake compile` and on `gem install`.

require "mkmf"
require "rb_sys/mkmf"

OLDEST_CARGO = "1.85"

def fail_with(reason) = abort("ruvoy: #{reason}")

# --- what compiling takes ---

def recent_cargo?
  cargo = ENV.fetch("CARGO", "cargo")
  version = find_executable(cargo) && IO.popen([cargo, "--version"], &:read)[/\d+(\.\d+)+/]
  version && Gem::Version.new(version) >= Gem::Version.new(OLDEST_CARGO)
end

# Where bindgen finds libclang, as far as that can be told without it.
def libclang?
  llvm = find_executable("llvm-config")
  directories = [ENV.fetch("LIBCLANG_PATH", ""), *ENV.fetch("LD_LIBRARY_PATH", "").split(":"),
                 llvm && IO.popen([llvm, "--libdir"], &:read).chomp,
                 "/usr/lib{,32,64}", "/usr/lib/*-linux-gnu*", "/usr/lib/llvm*/lib*", "/usr/lib64/llvm*/lib*",
                 "/usr/local/lib{,64}", "/usr/local/llvm*/lib*"]
  return true if directories.compact.any? { |name| !name.empty? && Dir.glob("#{name}/libclang{,-*}.so*").any? }

  # The gem of that name brings its own.
  Gem::Specification.find_all_by_name("libclang").any?
end

def missing_tools
  # Each answer is made before the list, since looking for one tool must not hide another.
  tools = { "cargo #{OLDEST_CARGO} or newer" => recent_cargo?, "libclang (or LIBCLANG_PATH)" => libclang?,
            "a C compiler" => find_executable("cc") || find_executable(RbConfig::CONFIG["CC"].split.first) }
  tools.reject { |_name, found| found }.keys
end

# --- one Ruby, with a shared libruby ---

cross_compiling = RbConfig::CONFIG["CROSS_COMPILING"] == "yes"
if cross_compiling
  # rake-compiler shows its own Ruby's answer here, but what counts is the Ruby that the module is for.
  [RbConfig::CONFIG, RbConfig::MAKEFILE_CONFIG].each { |config| config["ENABLE_SHARED"] = "yes" }
elsif RbConfig::CONFIG["ENABLE_SHARED"] != "yes"
  fail_with "this Ruby has no shared libruby (#{RbConfig.ruby}); it takes one built with --enable-shared"
end

missing = missing_tools
unless missing.empty?
  fail_with "compiling takes #{missing.join(", ")}, not found here; the precompiled gems for Linux take none of it"
end

# --- the Makefile ---

abi = RbConfig::CONFIG.fetch("ruby_version")[/\A\d+\.\d+/]
cargo_home = File.expand_path(ENV.fetch("CARGO_HOME") { File.join(Dir.home, ".cargo") })

create_rust_makefile("ruvoy/#{abi}/ruvoy_fiber") do |builder|
  builder.profile = :release
  # Nobody who installs a gem asked for a toolchain to be downloaded.
  builder.auto_install_rust_toolchain = false
  # RubyGems compiles where the sources are, and what compiling left there would stay as long as the gem.
  builder.clean_after_install = Dir.pwd == File.realpath(__dir__)
  builder.rubygems_clean_dirs += ["./target"]
  # The same module wherever it is built: no directory of the machine in the messages of panics.
  builder.extra_rustflags = ["--remap-path-prefix=#{cargo_home}=cargo"]
end

# Envoy looks for lib<name>.so, where Ruby would have an extension without the prefix.
makefile = File.read("Makefile")
renamed = makefile.sub(/^DLLIB = /, "DLLIB = lib")
fail_with "the Makefile that rb_sys wrote names no DLLIB" if renamed == makefile
File.write("Makefile", renamed)
