# frozen_string_literal: true

# Runs an application on the server's own loop, with a fake native half, for unit specs.

require "ruvoy/server"
require "support/fake_native"

RSpec.shared_context "with a server" do
  let(:native) { FakeNative.new(buffer_bytes:) }
  let(:buffer_bytes) { 1_048_576 }
  let(:stderr) { StringIO.new }

  around do |example|
    saved = $stderr
    $stderr = stderr
    example.run
  ensure
    $stderr = saved
  end

  after { stop_server if @thread }

  # Starts the server, instead of one that runs already; the block is the application.
  def serve(&app)
    stop_server if @thread
    server = Ruvoy::Server.new(native, app)
    @thread = Thread.new { server.run }
    @thread.report_on_exception = false
  end

  # @return the ended request
  def get(**, &app)
    serve(&app)
    native.request(**).wait
  end

  def stop_server
    native.stop
    expect(@thread.join(10)).to be(@thread), "the server did not stop"
    native.owner = @thread = nil
  end

  def log_text = native.logs.map(&:last).join("\n")
end
