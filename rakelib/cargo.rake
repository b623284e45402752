# frozen_string_literal: true

# `rake cargo`: the unit tests of the crates, then what threads share under loom, which tries every interleaving.

namespace :cargo do
  desc "Run the crates' unit tests"
  task :test do
    sh "cargo", "test", "--workspace", "--locked", "--quiet"
  end

  desc "Check what threads share with loom"
  task :loom do
    # A target directory of its own, since the flag would make cargo build everything anew each time.
    environment = { "RUSTFLAGS" => "--cfg loom", "CARGO_TARGET_DIR" => "target/loom" }
    sh environment, "cargo", "test", "--package", "ruvoy", "--lib", "--locked", "--quiet", "--", "loom"
  end
end

desc "Run the unit tests of the crates, also under loom"
task cargo: %w[cargo:test cargo:loom]
