# frozen_string_literal: true

# A Roda application answers as under Puma: same status, fields and body.

require "support/integration"
require "support/parity"

RSpec.describe "parity of Roda" do
  include_examples "Puma's answers", "roda"
end
