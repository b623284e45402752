# frozen_string_literal: true

# The source gem: compiled where Rust is, and one line that says what is missing where it is not.

require "support/integration"
require "packaging/support/gem_source"
require "packaging/support/installation"
require "packaging/support/packages"

RSpec.describe "The source gem", skip: Packages.missing do
  around { |example| Dir.mktmpdir("compile", ServerProcess::DIRECTORY) { |path| (@base = path) && example.run } }

  attr_reader :base

  let(:source) { GemSource.new("#{base}/source", [Packages.source]) }
  let(:sandbox) { "#{base}/machine" }

  it "says what compiling takes" do
    installation = Installation.new(sandbox, tools: %w[cat cp make touch])
    output, status = installation.run("gem", "install", "--no-document", "--clear-sources", "--source", source.url,
                                      "ruvoy", LIBCLANG_PATH: "/nonexistent")
    expect(status).not_to be_success
    lines = output.lines.grep(/^ruvoy: /)
    expect(lines.size).to eq(1)
    expect(lines.first).to match(/compiling takes cargo 1\.85 or newer, .*a C compiler, not found here/)
    expect(installation.files.grep(/ruvoy.*\.so\z/)).to be_empty
  end

  it "compiles, and serves with an Envoy of one's own", :slow do
    # All that there is here, since compilers call what they find.
    installation = Installation.new(sandbox, tools: [])
    installation.run!("gem", "install", "--no-document", "--clear-sources", "--source", source.url, "ruvoy",
                      PATH: "#{installation.path}:#{ENV.fetch("PATH")}", CARGO_HOME: cargo_home)
    server = installation.serve("env", "RUVOY_ENVOY=#{envoy}", "ruvoy", "-p", "0",
                                rackup: 'run ->(_env) { [200, {}, ["compiled"]] }')
    expect(server.get("/")).to eq("compiled")
    expect(server.stop.exitstatus).to eq(0)
    expect(Dir["#{installation.gem_home}/**/target"]).to be_empty
  end

  # The crates that are here already need not come over the network again.
  def cargo_home = ENV.fetch("CARGO_HOME") { File.join(Dir.home, ".cargo") }

  def envoy = Ruvoy::Launcher.find_envoy
end
