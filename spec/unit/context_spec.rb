# frozen_string_literal: true

# The context asks Rust for a part when it is first read, and once.

require "spec_helper"
require "ruvoy"

RSpec.describe Ruvoy::Context do
  native = Struct.new(:route_name, :connection, :tls, :dynamic_metadata, :route_metadata)

  let(:parts) { native.new(nil, { "id" => 1 }, nil, {}, { "a" => { "b" => 1.0 } }) }
  let(:context) { described_class.new(parts) }

  before { native.members.each { |part| allow(parts).to receive(part).and_call_original } }

  it "asks for nothing before it is read" do
    context.inspect
    native.members.each { |part| expect(parts).not_to have_received(part) }
  end

  it "asks once, for what is nil too" do
    2.times { native.members.each { |part| context.public_send(part) } }
    native.members.each { |part| expect(parts).to have_received(part).once }
  end

  it "has everything in its Hash" do
    expect(context.to_h).to eq("route_name" => nil, "connection" => { "id" => 1 }, "tls" => nil,
                               "dynamic_metadata" => {}, "route_metadata" => { "a" => { "b" => 1.0 } })
  end
end
