# frozen_string_literal: true

# `rake gates`: counts what a request costs (objects, allocations, system calls) and fails where it has become more.

require "rspec/core/rake_task"

namespace :gates do
  desc "Build the module that counts, into target/gates"
  task :compile do
    sh "cargo", "build", "--package", "ruvoy", "--lib", "--release", "--features", "count-allocations", "--locked",
       "--quiet", "--target-dir", "target/gates"
  end

  RSpec::Core::RakeTask.new(:spec) { |task| task.pattern = "spec/gates/**/*_spec.rb" }
end

desc "Count what a request costs"
task gates: %w[gates:compile gates:spec]
