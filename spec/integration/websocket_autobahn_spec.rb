# frozen_string_literal: true

# Autobahn's WebSocket cases, through kosoku: under Ruvoy each has the result that async-websocket has without it.
# RUVOY_WEBSOCKET_CASES takes other cases than the quick ones, such as "9.* 12.* 13.*".

require "json"
require "support/direct_process"
require "support/integration"
require "support/python"

RSpec.describe "async-websocket under Autobahn's cases" do
  chosen = ENV.fetch("RUVOY_WEBSOCKET_CASES", nil)
  fine = %w[OK NON-STRICT INFORMATIONAL]

  before(:context) { skip(Python::MISSING) unless Python.tools? }

  # Runs the cases against a server's root.
  # @return [Hash{String => Array<String>}] behaviour and behaviour at the close by the case's number
  def results(server, cases)
    reports = Dir.mktmpdir("reports", ServerProcess::DIRECTORY)
    included = cases.flat_map { |number| ["--include", number] }
    kosoku = File.join(Python.directory, "bin/kosoku")
    output, = Python.run("python3", kosoku, "--parallelism", "4", "--outdir", reports, *included,
                         "127.0.0.1:#{server.port}")
    index = File.join(reports, "index.json")
    raise "kosoku has failed: #{output}" unless File.exist?(index)

    results = JSON.parse(File.read(index)).values.first
    results.transform_values { |result| result.values_at("behavior", "behaviorClose") }
  end

  it "has the results of direct use" do
    cases = (chosen || "1.* 2.* 3.* 4.* 5.* 6.* 7.* 10.*").split
    direct = DirectProcess.start { |server| results(server, cases) }
    EnvoyProcess.start(rackup: "websocket", filter: { "limits" => { "shutdown_timeout_ms" => 200 } }) do |server|
      expect(results(server, cases)).to eq(direct)
      expect(curl(server, "/hello").status).to eq(200)
    end
    next if chosen

    # Invalid UTF-8 is what async-websocket itself closes with another code than 1007. All else is right.
    failed = direct.reject { |_, behaviours| (behaviours - fine).empty? }
    expect(failed.keys).to all(start_with("6."))
    expect(direct.size - failed.size).to be > 150
  end
end
