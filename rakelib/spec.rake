# frozen_string_literal: true

# `rake spec`: RSpec's examples, unit and integration.

require "rspec/core/rake_task"

RSpec::Core::RakeTask.new(:spec)
