# frozen_string_literal: true

# httplint finds no fault with answers: the application's, Ruvoy's own, and Envoy's.

require "json"
require "support/integration"
require "support/python"

RSpec.describe "answers under httplint" do
  serve "resources", filter: { "limits" => { "request_body_bytes" => 10 } }

  before(:context) { skip(Python::MISSING) unless Python.tools? }

  # What httplint says of a status by itself.
  refused = "The server didn't understand the request."
  too_long = "The server won't accept a URI this long ."
  answers = {
    "GET /text" => [200], "HEAD /text" => [200], "GET /stream" => [200], "GET /file" => [200], "GET /gzip" => [200],
    "GET /json" => [200], "GET /cookies" => [200], "GET /redirect" => [302], "GET /empty" => [204],
    "GET /not-modified" => [304], "GET /trailers" => [200], "GET /nowhere" => [404], "GET /error" => [500],
    "HEAD /error" => [500], "CONNECT a.test:80" => [400, refused], "G(T /" => [400, refused],
    "GET /#{"x" * 17_000}" => [414, too_long]
  }

  it "have no faults" do
    output, status = Python.program("lint", server.port, *answers.keys)
    expect(status).to be_success, output
    expect(JSON.parse(output)).to eq(answers.values)
  end
end
