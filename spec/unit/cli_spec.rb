# frozen_string_literal: true

# Arguments → options, answers and exit statuses; the launcher is observed, not run.

require "spec_helper"
require "ruvoy"
require "stringio"
require "tmpdir"
require "yaml"

RSpec.describe Ruvoy::CLI do
  let(:out) { StringIO.new }
  let(:err) { StringIO.new }
  let(:launched) { [] }

  before do
    allow(Ruvoy::Launcher).to receive(:find_module).and_return("/gem/libruvoy_fiber.so")
    allow(Ruvoy::Launcher).to receive(:new) do |options, _|
      instance_double(Ruvoy::Launcher).tap { |launcher| allow(launcher).to receive(:launch) { launched << options } }
    end
  end

  around do |example|
    Dir.mktmpdir { |directory| Dir.chdir(directory) { File.write("config.ru", "") && example.run } }
  end

  def run(*arguments) = described_class.new(arguments, out: out, err: err).run

  def options_of(*arguments)
    expect([run(*arguments), err.string]).to eq([0, ""])
    launched.last
  end

  it "has the documented defaults" do
    expect(options_of.to_h).to eq(rackup: File.join(Dir.pwd, "config.ru"), address: "127.0.0.1", port: 8080,
                                  admin_port: nil, concurrency: 1, trusted_hops: 0, log_level: nil,
                                  upstreams: {}, context: nil)
  end

  it "takes every option, in any order, around the rackup" do
    File.write("other.ru", "")
    options = options_of("-p", "0", "--admin-port", "9901", "other.ru", "-a", "::1", "--trusted-hops", "2",
                         "--concurrency", "4", "--log-level", "debug")
    expect(options.to_h).to eq(rackup: File.join(Dir.pwd, "other.ru"), address: "::1", port: 0, admin_port: 9901,
                               concurrency: 4, trusted_hops: 2, log_level: "debug", upstreams: {}, context: nil)
    expect(options_of("--port=81", "--address=0.0.0.0").to_a).to include(81, "0.0.0.0")
  end

  it "takes upstreams by name, and the namespaces of the context" do
    options = options_of("--upstream", "a=http://127.0.0.1:81", "--upstream=b=https://b.test", "--context=x,y")
    expect(options.upstreams.transform_values(&:origin)).to eq("a" => "http://127.0.0.1:81", "b" => "https://b.test")
    expect(options.context).to eq(%w[x y])
    expect(options_of("--context", "config.ru").context).to eq([])
  end

  it "refuses an upstream that is there twice" do
    expect(run("--upstream", "a=http://127.0.0.1:81", "--upstream", "a=http://127.0.0.1:82")).to eq(1)
    expect(err.string).to eq("ruvoy: --upstream a is there twice\n")
  end

  it "takes IPv6 in brackets, and the name of an address" do
    expect(options_of("-a", "[::1]").address).to eq("::1")
    expect(options_of("-a", "localhost").address).to eq("127.0.0.1").or eq("::1")
  end

  it "keeps the name of a symbolic link, which a deployment may turn over" do
    File.symlink("config.ru", "current.ru")
    expect(options_of("current.ru").rackup).to end_with("/current.ru")
  end

  %w[-v --version].each do |option|
    it "prints the version for #{option}" do
      expect([run(option), out.string, err.string]).to eq([0, "ruvoy #{Ruvoy::VERSION}\n", ""])
    end
  end

  %w[-h --help].each do |option|
    it "names every option for #{option}" do
      expect([run(option), err.string]).to eq([0, ""])
      expect(out.string.scan(/--[a-z-]+/).uniq).to eq(
        %w[--port --address --admin-port --upstream --context --trusted-hops --concurrency --log-level --print-config
           --version --help]
      )
    end
  end

  it "has the options that the README lists, and no others" do
    run("--help")
    readme = File.read(File.expand_path("../../README.md", __dir__))
    options = readme[/^## Options$.*?^## /m].lines.grep(/^\|/).join.scan(/--[a-z-]+(?= |`|\[)/).uniq
    expect(options).to match_array(out.string.scan(/--[a-z-]+/).uniq)
  end

  it "prints the configuration" do
    expect([run("--print-config", "-p", "0"), err.string, launched]).to eq([0, "", []])
    expect(YAML.safe_load(out.string).dig("static_resources", "listeners", 0, "address", "socket_address"))
      .to eq("address" => "127.0.0.1", "port_value" => 0)
  end

  {
    "an unknown option" => [%w[--nope], "invalid option: --nope"],
    "a port that is no number" => [%w[-p http], "invalid argument: -p http"],
    "a port out of range" => [%w[--port 65536], "invalid argument: --port 65536"],
    "a negative port" => [%w[--port=-1], "invalid argument: --port=-1"],
    "a missing argument" => [%w[--port], "missing argument: --port"],
    "an admin port that is no number" => [%w[--admin-port x], "invalid argument: --admin-port x"],
    "no workers" => [%w[--concurrency 0], "invalid argument: --concurrency 0"],
    "negative hops" => [%w[--trusted-hops=-1], "invalid argument: --trusted-hops=-1"],
    "an unknown log level" => [%w[--log-level loud], "invalid argument: --log-level loud"],
    "two rackups" => [%w[config.ru b.ru], "one rackup at a time: b.ru is too many"],
    "an address that is none" => [%w[-a 300.1.1.1], "300.1.1.1 is neither an address nor the name of one"]
  }.each do |what, (arguments, message)|
    it "refuses #{what} in one line" do
      expect([run(*arguments), out.string, err.string]).to eq([1, "", "ruvoy: #{message}\n"])
      expect(launched).to be_empty
    end
  end

  it "refuses a rackup that is missing, or a directory" do
    Dir.mkdir("app.ru")
    %w[missing.ru app.ru].each do |name|
      err.truncate(err.rewind)
      expect([run(name), err.string]).to eq([1, "ruvoy: no rackup at #{File.join(Dir.pwd, name)}\n"])
    end
  end

  it "makes one line of an error of several" do
    allow(Ruvoy::Launcher).to receive(:find_module).and_raise(Ruvoy::UsageError, "one\n  two\n")
    expect([run("--print-config"), err.string.rstrip]).to eq([1, "ruvoy: one two"])
  end
end
