# frozen_string_literal: true

# A Sinatra application answers as under Puma: same status, fields and body.

require "support/integration"
require "support/parity"

RSpec.describe "parity of Sinatra" do
  include_examples "Puma's answers", "sinatra"
end
