# frozen_string_literal: true

# A bare Rack application answers as under Puma: same status, fields and body.

require "support/integration"
require "support/parity"

RSpec.describe "parity of bare Rack" do
  include_examples "Puma's answers", "plain"
end
