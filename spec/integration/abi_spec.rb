# frozen_string_literal: true

# The compiled module: what it asks of Envoy exists in every supported Envoy, and it can be installed anywhere.

require "support/integration"
require "support/envoys"

RSpec.describe "the module's binary interface" do
  def symbols(path, *options) = run("nm", "-D", *options, path).lines.map { |line| line.split.last }

  def run(*command)
    output, status = Open3.capture2(*command)
    expect(status).to be_success
    output
  end

  def imported = symbols(EnvoyProcess.module_path, "--undefined-only").grep(/\Aenvoy_/)
  def exported = symbols(EnvoyProcess.module_path, "--defined-only").grep(/\Aenvoy_/)

  it "imports only what every listed Envoy exports" do
    skip Envoys.missing if Envoys.all.empty?

    expect(imported).not_to be_empty
    missing = Envoys.all.transform_values { |path| imported - symbols(path, "--defined-only") }
    expect(missing.values).to all(be_empty), "missing: #{missing}"
  end

  it "exports the hooks that Envoy demands, and nothing but hooks" do
    hooks = %w[
      program_init http_filter_config_new http_filter_config_destroy http_filter_new http_filter_request_headers
      http_filter_request_body http_filter_request_trailers http_filter_response_headers http_filter_response_body
      http_filter_response_trailers http_filter_stream_complete http_filter_destroy http_filter_http_callout_done
      http_filter_http_stream_headers http_filter_http_stream_data http_filter_http_stream_trailers
      http_filter_http_stream_complete http_filter_http_stream_reset http_filter_scheduled
      http_filter_downstream_above_write_buffer_high_watermark http_filter_downstream_below_write_buffer_low_watermark
    ].map { |hook| "envoy_dynamic_module_on_#{hook}" }
    expect(exported).to include(*hooks)
    expect(exported).to all(start_with("envoy_dynamic_module_on_"))
  end

  it "looks for libruby where the system has it, and nowhere near the place of its build" do
    expect(run("readelf", "-d", EnvoyProcess.module_path)).not_to match(/R(UN)?PATH.*\[(?!\$ORIGIN)/)
  end
end
