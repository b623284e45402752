# frozen_string_literal: true

# `rake signatures`: the RBS in sig/ is valid, and the unit specs run once more with every call checked against it.

require "rbconfig"

# Besides the signatures themselves, those of gems that ship none.
SIGNATURES = %w[-I sig -I spec/signatures].freeze

namespace :signatures do
  desc "Check that the signatures are consistent"
  task(:validate) { ruby Gem.bin_path("rbs", "rbs"), *SIGNATURES, "validate" }

  # All but the examples tagged `unchecked`: those that break a signature on purpose, and those that count what checking
  # does as well, such as objects and frames.
  desc "Run the unit specs with every call checked against the signatures"
  task :test do
    environment = { "RBS_TEST_TARGET" => "Ruvoy,Ruvoy::*", "RBS_TEST_OPT" => SIGNATURES.join(" "),
                    "RBS_TEST_LOGLEVEL" => "error", "RBS_TEST_DOUBLE_SUITE" => "rspec",
                    "RUBYOPT" => "#{ENV.fetch("RUBYOPT", nil)} -rrbs/test/setup" }
    sh environment, RbConfig.ruby, Gem.bin_path("rspec-core", "rspec"), "--tag", "~unchecked", "spec/unit"
  end
end

desc "Check the signatures, by themselves and against the unit specs"
task signatures: %w[signatures:validate signatures:test]
