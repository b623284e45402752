# frozen_string_literal: true

# A Rails application answers as under Puma: same status, fields and body.

require "support/integration"
require "support/parity"

RSpec.describe "parity of Rails" do
  include_examples "Puma's answers", "rails"
end
