# frozen_string_literal: true

# `rake signatures`: the RBS in sig/ is valid, and the unit specs run once more with every call checked against it.

require "rbconfig"

# Besides the signatures themselves, those of gems that ship none.
SIGNATURES = %w[-I sig -I spec/signatures].freeze

namespace :signatures do
  desc "Check that the signatures are consistent"
  task(:validate) { ruby Gem.bin_path("rbs", "rbs"), *SIGNATURES, "validate" }

  desc "Run the unit specs with every call checked against the signatures"
  task :test do
    environment = { "RBS_TEST_TARGET" => "Ruvoy,Ruvoy::*", "RBS_TEST_OPT" => SIGNATURES.join(" "), "RBS_TEST_LOGLEVEL" => "error",
                    "RUBYOPT" => "#{ENV.fetch("RUBYOPT", nil)} -rrbs/test/setup" }
    sh environment, RbConfig.ruby, Gem.bin_path("rspec-core", "rspec"), "spec/unit"
  end
end

desc "Check the signatures, by themselves and against the unit specs"
task signatures: %w[signatures:validate signatures:test]
