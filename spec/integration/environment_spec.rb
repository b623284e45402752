# frozen_string_literal: true

# The VM inside Envoy is an ordinary Ruby: encodings, C extensions, subprocesses, RUBYOPT, and Bundler.

require "support/integration"

RSpec.describe "the Ruby environment" do
  serve "environment"

  def ask(question, server = self.server) = JSON.parse(curl(server, "/#{question}").body).first

  it "reads and writes UTF-8" do
    expect(ask("encoding")).to eq(["UTF-8", "", "UTF-8"])
  end

  it "reads and writes UTF-8 whatever the locale says" do
    EnvoyProcess.start(rackup: "environment", environment: { "LANG" => "C", "LC_ALL" => "C" }) do |server|
      expect(ask("encoding", server)).to eq(["UTF-8", "", "UTF-8"])
    end
  end

  {
    "openssl" => "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855prime256v1",
    "json" => [1, 2.5, nil], "io-event" => /\AIO::Event::Selector::(EPoll|URing)\z/,
    "pg" => [true, "it''s"], "stringio" => "abc"
  }.each do |extension, answer|
    it "loads the C extension #{extension}" do
      expect(ask(extension)).to match(answer)
    end
  end

  it "runs subprocesses" do
    expect(ask("subprocess")).to eq("hi\n")
  end

  it "keeps the working directory" do
    expect(ask("program")).to match([String, Dir.pwd, "ruby"])
  end

  it "honours RUBYOPT and RUBYLIB" do
    directory = Dir.mktmpdir("rubylib", ServerProcess::DIRECTORY)
    File.write(File.join(directory, "ruvoy_spec_required.rb"), "RUVOY_SPEC_REQUIRED = true\n")
    environment = { "RUBYOPT" => "-rruvoy_spec_required", "RUBYLIB" => directory }
    EnvoyProcess.start(rackup: "environment", environment: environment) do |server|
      expect(ask("rubyopt", server)).to eq("constant")
      expect(ask("load-path", server)).to include(directory)
    end
  end

  it "honours Bundler's environment: a gem outside of the bundle cannot be required" do
    directory = Dir.mktmpdir("bundle", ServerProcess::DIRECTORY)
    gemfile = File.join(directory, "Gemfile")
    File.write(gemfile, "source Gem.sources.first.uri.to_s\ngem 'ruvoy', path: #{EnvoyProcess::ROOT.inspect}\n")
    text = "QUESTION = begin\n  require 'pg'\nrescue LoadError => e\n  e.class.name\nend\n" \
           "run ->(_env) { [200, {}, [QUESTION.to_s, ' ', ENV['BUNDLE_GEMFILE'].to_s]] }"
    # What `bundle exec` sets.
    environment = { "BUNDLE_GEMFILE" => gemfile, "RUBYOPT" => "-rbundler/setup" }
    EnvoyProcess.start(rackup: rackup(text), environment: environment) do |server|
      expect(curl(server, "/").body).to eq("LoadError #{gemfile}")
    end
  end
end
