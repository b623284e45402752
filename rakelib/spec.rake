# frozen_string_literal: true

# `rake spec`: RSpec's examples, unit and integration; `rake spec:packaging`: those of the gems, packed before.

require "rspec/core/rake_task"

# The packages and the gates have tasks of their own, which build what they need.
RSpec::Core::RakeTask.new(:spec) { |task| task.exclude_pattern = "spec/{packaging,gates}/**/*_spec.rb" }

namespace :spec do
  RSpec::Core::RakeTask.new(packaging: %i[gem native envoy:gem]) { |task| task.pattern = "spec/packaging/**/*_spec.rb" }
end
