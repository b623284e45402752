# frozen_string_literal: true

# Configures RSpec for every spec; the integration specs additionally require "support/integration".

require "rspec"

$LOAD_PATH.unshift(File.expand_path("../lib", __dir__), __dir__)
Encoding.default_external = Encoding::UTF_8

RSpec.configure do |config|
  config.disable_monkey_patching!
  config.raise_errors_for_deprecations!
  config.order = :random
  Kernel.srand(config.seed)
  config.expect_with(:rspec) { |expectations| expectations.max_formatted_output_length = 2_000 }
  config.mock_with(:rspec) { |mocks| mocks.verify_partial_doubles = true }
end
