# frozen_string_literal: true

# Autobahn's WebSocket cases, through kosoku: under Ruvoy each has the result that async-websocket has without it.
# RUVOY_WEBSOCKET_CASES takes other cases than the quick ones, such as "9.* 12.* 13.*".

require "json"
require "support/direct_process"
require "support/integration"
require "support/python"

RSpec.describe "async-websocket under Autobahn's cases" do
  cases = ENV.fetch("RUVOY_WEBSOCKET_CASES", "1.* 2.* 3.* 4.* 5.* 6.* 7.* 10.*").split

  before(:context) { skip(Python::MISSING) unless Python.tools? }

  # Runs the cases against a server's root.
  # @return [Hash{String => Array<String>}] behaviour and behaviour at the close by the case's number
  def results(server, cases)
    reports = Dir.mktmpdir("reports", ServerProcess::DIRECTORY)
    kosoku = File.join(Python.directory, "bin/kosoku")
    included = cases.flat_map { |number| ["--include", number] }
    output, = Python.run("python3", kosoku, "--parallelism", "4", "--outdir", reports, *included, "127.0.0.1:#{server.port}")
    index = File.join(reports, "index.json")
    raise "kosoku has failed: #{output}" unless File.exist?(index)

    JSON.parse(File.read(index)).values.first.transform_values { |result| result.values_at("behavior", "behaviorClose") }
  end

  it "has the results of direct use" do
    direct = DirectProcess.start { |server| results(server, cases) }
    EnvoyProcess.start(rackup: "websocket") do |server|
      expect(results(server, cases)).to eq(direct)
      expect(get_status(server)).to eq(200)
    end
    # Of invalid UTF-8 async-websocket knows, but closes with another code than 1007; the rest is flawless.
    failed = direct.reject { |_, (behavior, close)| [behavior, close].all? { |one| %w[OK NON-STRICT INFORMATIONAL].include?(one) } }
    expect(failed.keys).to all(start_with("6.")) unless ENV.key?("RUVOY_WEBSOCKET_CASES")
    expect(direct.size - failed.size).to be > 150 unless ENV.key?("RUVOY_WEBSOCKET_CASES")
  end

  def get_status(server) = curl(server, "/hello").status
end
