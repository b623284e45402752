# frozen_string_literal: true

require "logger"
require "ruvoy/error_stream"

RSpec.describe Ruvoy::ErrorStream do
  subject(:stream) { described_class.new.freeze }

  it "writes to standard error, whatever that is at the moment" do
    expect { stream.puts("a", "b") }.to output("a\nb\n").to_stderr
    expect { stream << "c" << 1 }.to output("c1").to_stderr
    expect(stream.flush).to be(stream)
  end

  it "is a device for Ruby's Logger, as frameworks use it, and stays open when that is closed" do
    expect { Logger.new(stream).tap { |logger| logger.error("broken") }.close }.to output(/broken/).to_stderr
    expect { stream.puts("still") }.to output("still\n").to_stderr
  end
end
