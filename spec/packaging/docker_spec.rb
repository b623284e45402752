# frozen_string_literal: true

# The example of an image, as far as that goes without Docker: its application, its health check and its rules.

require "support/integration"
require "json"
require "open3"

RSpec.describe "examples/docker" do
  example_directory = File.expand_path("../../examples/docker", __dir__)

  let(:dockerfile) { File.read("#{example_directory}/Dockerfile").gsub("\\\n", "") }
  let(:last_stage) { dockerfile.split(/^FROM /).last }

  serve "#{example_directory}/config.ru"

  def health(port)
    command = JSON.parse(last_stage[/^HEALTHCHECK .* CMD (\[.*\])$/, 1])
    Open3.capture2e(*command.map { |word| word.gsub("8080", port.to_s) }).last.success?
  end

  it "serves its page" do
    expect(get("/").body).to start_with("hello from ruby #{RUBY_VERSION}")
    expect(get("/nothing").status).to eq(404)
  end

  it "is healthy while it serves, and not when it does not" do
    expect(health(server.port)).to be(true)
    ended = EnvoyProcess.start(rackup: "#{example_directory}/config.ru").tap(&:stop)
    expect(health(ended.port)).to be(false)
  end

  it "runs without compilers, not as root, and ends by a signal that Envoy knows" do
    expect(last_stage).to match(/^USER [1-9]\d*$/).and match(/^STOPSIGNAL SIGTERM$/)
    expect(last_stage).not_to include("build-essential")
    expect(JSON.parse(last_stage[/^CMD (.*)$/, 1]).first(3)).to eq(%w[bundle exec ruvoy])
  end
end
