# frozen_string_literal: true

require "ruvoy/headers"
require "ruvoy/request"

RSpec.describe Ruvoy::Headers do
  subject(:headers) { described_class.new }

  let(:notes) { Struct.new(:content_length, :protocol, :upgrade).new }

  def refused(fields, message)
    expect { headers.flatten(fields, notes) }.to raise_error(Ruvoy::ContractError, message)
  end

  it "flattens names and values" do
    expect(headers.flatten({ "a" => "1", "b" => "2" })).to eq(%w[a 1 b 2])
  end

  it "accepts a subclass of Hash and what converts to one" do
    expect(headers.flatten(Class.new(Hash).new.update("a" => "1"))).to eq(%w[a 1])
    expect(headers.flatten(Struct.new(:to_hash).new({ "a" => "1" }))).to eq(%w[a 1])
  end

  it "lower-cases names, each time the same frozen String" do
    first, = headers.flatten({ "X-Powered-By" => "x" })
    second, = headers.flatten({ "X-Powered-By" => "x" })
    expect(first).to eq("x-powered-by").and be_frozen.and equal(second)
  end

  it "makes several fields of an Array and of lines" do
    expect(headers.flatten({ "a" => %w[1 2] })).to eq(%w[a 1 a 2])
    expect(headers.flatten({ "a" => "1\n2\n" })).to eq(%w[a 1 a 2])
    expect(headers.flatten({ "a" => [] })).to eq([])
  end

  it "converts names and values as Puma does" do
    expect(headers.flatten({ "a" => 1, b: :c, "d" => nil, "e" => "" })).to eq(["a", "1", "b", "c", "d", "", "e", ""])
  end

  it "keeps bytes of any encoding" do
    expect(headers.flatten({ "a" => "\xFF", "b" => "\xFF".b,
                             "c" => "ü" })).to eq(["a", "\xFF", "b", "\xFF".b, "c", "ü"])
  end

  it "drops hop-by-hop fields and what starts with rack." do
    hop = %w[Connection keep-alive proxy-connection transfer-encoding te upgrade]
    expect(headers.flatten(hop.to_h { |name| [name, "x"] }.merge("rack.hijack" => lambda {
    }, "keep" => "1"))).to eq(%w[keep 1])
  end

  it "notes the content length and the protocol, and does not send them" do
    fields = headers.flatten({ "Content-Length" => "12", "rack.protocol" => "websocket", "upgrade" => "h2c" }, notes)
    expect([fields, *notes]).to eq([[], 12, "websocket", "h2c"])
  end

  it "takes the content length as an Integer and repeated" do
    headers.flatten({ "content-length" => 7 }, notes)
    expect(notes.content_length).to eq(7)
    headers.flatten({ "content-length" => %w[8 8] }, notes)
    expect(notes.content_length).to eq(8)
  end

  it "refuses a content length that is none" do
    ["-1", "x", "1 2", "", "0x1", "1_0", %w[1 2], "9" * 30].each do |bad|
      refused({ "content-length" => bad }, /content-length/)
    end
  end

  it "refuses names that are no tokens" do
    ["", "a b", "a:b", "a\r\nb", "a\0", "ü", "\xFF", ":status", "a\n"].each do |bad|
      refused({ bad => "1" }, /no header name/)
    end
    refused({ 1 => "1" }, /no String/)
  end

  it "refuses CR, LF and NUL in values" do
    ["a\rb", "a\0b", "a\r\nset-cookie: b", "\xFF\r", ["a\nb"], ["\xFF\n"]].each do |bad|
      refused({ "x" => bad }, /value of x contains/)
    end
  end

  it "refuses headers that are no Hash" do
    refused(nil, /no Hash, but NilClass/)
    refused([%w[a b]], /no Hash/)
  end

  it "remembers a bounded number of names" do
    names = Array.new(described_class::MAX_NAMES + 10) { |n| "x-#{n}" }
    names.each { |name| headers.flatten({ name => "1" }) }
    expect(headers.instance_variable_get(:@names).size).to eq(described_class::MAX_NAMES)
    expect(headers.flatten({ names.last => "1" })).to eq([names.last, "1"])
  end

  it "allocates only the Array for names that it knows", :unchecked do
    fields = { "content-type" => "text/plain", "x-a" => "b" }
    10.times { headers.flatten(fields) }
    before = GC.stat(:total_allocated_objects)
    100.times { headers.flatten(fields) }
    expect(GC.stat(:total_allocated_objects) - before).to be_between(100, 110)
  end
end
