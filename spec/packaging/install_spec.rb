# frozen_string_literal: true

# Both gems on the machine of a stranger: no checkout, no compiler, an empty gem directory.

require "support/integration"
require "packaging/support/gem_source"
require "packaging/support/installation"
require "packaging/support/packages"

RSpec.describe "The gems ruvoy and ruvoy-envoy", skip: Packages.missing do
  around { |example| Dir.mktmpdir("installation", ServerProcess::DIRECTORY) { |path| (@base = path) && example.run } }

  attr_reader :base

  let(:gems) { [Packages.native, Packages.envoy] }
  let(:installation) { Installation.new("#{base}/machine") }
  let(:hello) { 'run ->(_env) { [200, { "content-type" => "text/plain" }, ["hello from ", RUBY_VERSION]] }' }

  let(:source) { GemSource.new("#{base}/source", gems) }

  it "serve, and leave nothing when they are uninstalled" do
    installation.install(source, *source.dependencies)
    before = installation.files
    installation.install(source, "ruvoy", "ruvoy-envoy")
    server = installation.serve("ruvoy", "-p", "0", rackup: hello)
    expect(server.get("/")).to eq("hello from #{RUBY_VERSION}")
    expect(server.log).to include(Packages.specification(Packages.envoy).version.to_s)
    expect(server.stop.exitstatus).to eq(0)
    installation.run!("gem", "uninstall", "--all", "--executables", "--ignore-dependencies", "ruvoy", "ruvoy-envoy")
    expect(installation.files - before).to be_empty
  end

  it "serve an application with its bundle" do
    File.write("#{installation.application}/Gemfile", "source #{source.url.dump}\n")
    installation.run!("bundle", "config", "set", "--local", "path", "bundle")
    installation.run!("bundle", "add", "ruvoy", "ruvoy-envoy")
    server = installation.serve("bundle", "exec", "ruvoy", "-p", "0", rackup: <<~RUBY)
      run ->(_env) { [200, {}, [Bundler.default_lockfile.dirname.to_s, " ", Gem.loaded_specs["ruvoy"].gem_dir]] }
    RUBY
    root, gem_directory = server.get("/").split
    expect(root).to eq(File.realpath(installation.application))
    expect(gem_directory).to start_with("#{root}/bundle/")
    expect(server.stop.exitstatus).to eq(0)
  end

  it "serve where libruby goes by the name that Ruby itself gives it" do
    own_name = "libruby.so.#{RUBY_VERSION[/\d+\.\d+/]}"
    skip "as the examples above do" if RbConfig::CONFIG["LIBRUBY_SONAME"] == own_name
    installation.install(source, "ruvoy", "ruvoy-envoy")
    FileUtils.rm_rf(Dir["#{installation.gem_home}/gems/ruvoy-#{Ruvoy::VERSION}-*/lib/ruvoy/*/ruby-*"])
    libruby = RbConfig::CONFIG.values_at("archlibdir", "libdir").compact
                              .map { |name| File.join(name, RbConfig::CONFIG["LIBRUBY_SO"]) }.find { |path| File.exist?(path) }
    File.symlink(libruby, "#{base}/#{own_name}")
    server = installation.serve("env", "LD_LIBRARY_PATH=#{base}", "ruvoy", "-p", "0", rackup: hello)
    expect(server.get("/")).to eq("hello from #{RUBY_VERSION}")
    expect(server.stop.exitstatus).to eq(0)
  end

  it "name the Ruby that there is no module for" do
    installation.install(source, "ruvoy", "ruvoy-envoy")
    modules = Dir["#{installation.gem_home}/gems/ruvoy-#{Ruvoy::VERSION}-*/lib/ruvoy/[0-9]*"]
    abi = RUBY_VERSION[/\d+\.\d+/]
    FileUtils.rm_rf(modules.grep(%r{/#{abi}\z}))
    others = modules.map { |path| File.basename(path) } - [abi]
    File.write("#{installation.application}/config.ru", hello)
    output, status = installation.run("ruvoy", "-p", "0")
    expect(status.exitstatus).to eq(1)
    expect(output).to eq("ruvoy: no module for Ruby #{abi} (#{RUBY_VERSION} runs; there are modules for: " \
                         "#{others.empty? ? "none" : others.join(", ")})\n")
  end

  Packages.rubies.except(RUBY_VERSION[/\d+\.\d+/]).each do |abi, ruby|
    it "serve under Ruby #{abi}" do
      skip "no ruby#{abi} on PATH" unless ruby
      other = Installation.new("#{base}/machine", ruby: ruby)
      other.install(GemSource.new("#{base}/source", gems, abi: abi), "ruvoy", "ruvoy-envoy")
      server = other.serve("ruvoy", "-p", "0", rackup: hello)
      expect(server.get("/")).to start_with("hello from #{abi}.")
      expect(server.stop.exitstatus).to eq(0)
    end
  end
end
