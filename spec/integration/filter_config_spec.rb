# frozen_string_literal: true

# A bad filter configuration is refused with a message that names what is wrong.

require "support/integration"

RSpec.describe "the filter configuration" do
  hello = File.join(EnvoyProcess::APPS, "hello.ru")
  limits = ->(hash) { JSON.generate("rackup" => hello, "limits" => hash) }

  bad = {
    "an unknown key" => [JSON.generate("rackup" => hello, "rakcup" => 1), /rakcup/],
    "an unknown limit" => [limits.call("request" => 1), /limits\.request\b/],
    "a limit of the wrong type" => [limits.call("requests" => "many"), /limits\.requests/],
    "a fraction" => [limits.call("buffer_bytes" => 1.5), /limits\.buffer_bytes/],
    "a limit of zero" => [limits.call("requests" => 0), /limits\.requests/],
    "a negative limit" => [limits.call("boot_timeout_ms" => -1), /limits\.boot_timeout_ms/],
    "limits that are no object" => [JSON.generate("rackup" => hello, "limits" => []), /limits/],
    "a rackup of the wrong type" => [JSON.generate("rackup" => 1), /rackup/],
    "a missing rackup" => [JSON.generate("limits" => {}), /rackup/],
    "an empty configuration" => ["", /rackup/],
    "an empty object" => ["{}", /rackup/],
    "invalid JSON" => ['{"rackup": ', /JSON/i],
    "namespaces of the wrong type" => [JSON.generate("rackup" => hello, "context" => { "metadata_namespaces" => "a" }),
                                       /context\.metadata_namespaces/],
    "upstream without clusters" => [JSON.generate("rackup" => hello, "upstream" => {}), /upstream\.clusters/]
  }

  bad.each do |name, (text, message)|
    it "is refused with its message: #{name}" do
      envoy = EnvoyProcess.refuse(filter_config: text)
      expect(envoy.exit_status.exitstatus).to be_positive
      expect(envoy.log.lines.grep(/\[(error|critical)\]/).join).to match(message)
    end
  end

  it "may be the path of the rackup alone" do
    EnvoyProcess.start(filter_config: hello) { |server| expect(curl(server, "/").body).to start_with("hello") }
  end

  it "may have every key" do
    limits = { "requests" => 8, "request_body_bytes" => 1000, "buffer_bytes" => 65_536,
               "total_buffer_bytes" => 1 << 24, "boot_timeout_ms" => 30_000, "shutdown_timeout_ms" => 1000 }
    EnvoyProcess.start(filter: { "limits" => limits }) do |server|
      expect(curl(server, "/").body).to start_with("hello")
      answer = curl(server, "/", "--data", "x" * 1001)
      expect([answer.status, answer["x-ruvoy-error"]]).to match([413, be_a(String)])
    end
  end

  it "is refused if another filter of the process names another rackup, and both are named" do
    other = File.join(EnvoyProcess::APPS, "plain.ru")
    envoy = EnvoyProcess.refuse(configure: second_listener(other))
    expect(envoy.exit_status.exitstatus).to be_positive
    expect(envoy.log.lines.grep(/\[(error|critical)\]/).join).to include(hello, other)
  end

  it "may be given twice with the same rackup" do
    EnvoyProcess.start(configure: second_listener(hello)) { |server| expect(curl(server, "/").status).to eq(200) }
  end

  # @return [Proc] gives the bootstrap a second listener with its own rackup
  def second_listener(rackup)
    lambda do |bootstrap|
      listeners = bootstrap.dig("static_resources", "listeners")
      listeners << Marshal.load(Marshal.dump(listeners.first)).merge("name" => "second")
      EnvoyProcess.filters(bootstrap).last["filter_config"]["value"] = JSON.generate("rackup" => rackup)
    end
  end
end
