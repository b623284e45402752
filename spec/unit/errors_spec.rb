# frozen_string_literal: true

# The public index: its exceptions, and that requiring it costs nothing.

require "spec_helper"
require "open3"
require "rbconfig"
require "ruvoy"

RSpec.describe Ruvoy do
  it "has one root for every exception" do
    errors = [Ruvoy::ClientDisconnected, Ruvoy::ContractError, Ruvoy::UpstreamError, Ruvoy::UsageError]
    expect(errors.map(&:superclass)).to all(be(Ruvoy::Error))
    expect(Ruvoy::UpstreamResponseTooLarge.superclass).to be(Ruvoy::UpstreamError)
    expect(Ruvoy::Error.superclass).to be(StandardError)
  end

  it "is required outside Envoy without anything native, async or rack" do
    script = 'require "ruvoy"; puts Ruvoy::VERSION, $LOADED_FEATURES.grep(%r{async|rack/|libruvoy|io/event})'
    output, status = Open3.capture2e(RbConfig.ruby, "-I", File.expand_path("../../lib", __dir__), "-e", script)
    expect(output).to eq("#{Ruvoy::VERSION}\n")
    expect(status).to be_success
  end
end
