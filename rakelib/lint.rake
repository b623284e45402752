# frozen_string_literal: true

# `rake lint`: style and static checks of Ruby, Rust, shell and more; the first that fails stops the rest.

require "rubocop/rake_task"

namespace :lint do
  RuboCop::RakeTask.new(:ruby)

  desc "Check the shell scripts with shellcheck"
  task :shell do
    scripts = FileList["bin/*", ".ci/*", ".github/*.sh"].exclude("bin/*.txt")
    sh "shellcheck", *scripts
  end

  desc "Check formatting and clippy's lints of the crates"
  task :rust do
    sh "cargo", "fmt", "--all", "--check"
    sh "cargo", "clippy", "--workspace", "--all-targets", "--locked", "--quiet", "--", "--deny", "warnings"
  end

  desc "Check the Dockerfiles with hadolint, where it is"
  task :docker do
    run_if_there(ENV.fetch("RUVOY_HADOLINT", "hadolint"), *FileList["examples/**/Dockerfile"])
  end

  desc "Check the workflows with actionlint, where it is"
  task(:workflows) { run_if_there("actionlint", *FileList[".github/workflows/*.yml"]) }

  def run_if_there(tool, *files)
    places = ENV.fetch("PATH").split(":").map { |directory| File.expand_path(tool, directory) }
    places.any? { |path| File.executable?(path) } ? sh(tool, *files) : puts("no #{File.basename(tool)} here")
  end
end

desc "Check style and run the static checks"
task lint: %w[lint:ruby lint:shell lint:rust lint:docker lint:workflows]
