# frozen_string_literal: true

# `rake lint`: style and static checks of Ruby, Rust and shell; the first that fails stops the rest.

require "rubocop/rake_task"

namespace :lint do
  RuboCop::RakeTask.new(:ruby)

  desc "Check the shell scripts with shellcheck"
  task :shell do
    scripts = FileList["bin/*", ".ci/*"].exclude("bin/*.txt")
    sh "shellcheck", *scripts
  end

  desc "Check formatting and clippy's lints of the crates"
  task :rust do
    sh "cargo", "fmt", "--all", "--check"
    sh "cargo", "clippy", "--workspace", "--all-targets", "--locked", "--quiet", "--", "--deny", "warnings"
  end
end

desc "Check style and run the static checks"
task lint: %w[lint:ruby lint:shell lint:rust]
