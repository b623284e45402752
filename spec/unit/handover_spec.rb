# frozen_string_literal: true

require "spec_helper"
require "ruvoy/handover"

RSpec.describe Ruvoy::Handover do
  it "takes the announcement out" do
    environment = { "RUVOY_ANNOUNCEMENT" => "it serves", "A" => "b" }
    expect(described_class.receive(environment)).to eq("it serves")
    expect(environment).to eq("A" => "b")
    expect(described_class.receive(environment)).to be_nil
  end

  it "gives the loader's path its former value back" do
    environment = { "LD_LIBRARY_PATH" => "/ruby/lib:/a", "RUVOY_LD_LIBRARY_PATH" => "/a" }
    described_class.receive(environment)
    expect(environment).to eq("LD_LIBRARY_PATH" => "/a")
  end

  it "removes a loader's path that was not there" do
    environment = { "LD_LIBRARY_PATH" => "/ruby/lib", "RUVOY_LD_LIBRARY_PATH" => "" }
    described_class.receive(environment)
    expect(environment).to be_empty
  end

  it "leaves a loader's path alone that no launcher changed" do
    environment = { "LD_LIBRARY_PATH" => "/a" }
    described_class.receive(environment)
    expect(environment).to eq("LD_LIBRARY_PATH" => "/a")
  end
end
