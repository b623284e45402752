# frozen_string_literal: true

# The same requests to Puma and to Ruvoy: each answer must be the same but for what belongs to the server.

module Parity
  # The server's own fields, and the framing, which the protocol's version decides.
  OWN = %w[date server connection keep-alive transfer-encoding].freeze

  # A session cookie is encrypted anew each time; what it holds shows in the next answer.
  SECRET = /((?:rack|rails|roda)\.session)=[^;]+/

  # To HEAD Puma gives the length of what Rack::Head left of the body. RFC 9110 section 8.6 has there the length that
  # GET would have, or none.
  EMPTIED = %w[content-length 0].freeze

  # Each scenario is a list of requests with one cookie jar: path and arguments of curl.
  SCENARIOS = {
    "GET" => [["/"]],
    "GET with a query" => [["/query?b=2&a=1&c=%20x%C3%A9&d[]=1&d[]=2"]],
    "form POST" => [["/form", "--data", "name=J%C3%BCrgen&x=1&x=2"]],
    "multipart upload of 20 MB" => [["/upload", "--form", "file=@UPLOAD;type=image/png;filename=a.png"]],
    "upload with a length" => [["/raw", "--upload-file", "UPLOAD"]],
    "chunked upload" => [["/raw", "--upload-file", "UPLOAD", "--header", "transfer-encoding: chunked"]],
    "empty chunked upload" => [["/raw", "--upload-file", "/dev/null", "--header", "transfer-encoding: chunked"]],
    "cookies" => [["/cookies", "--header", "cookie: x=1; y=%20z"], ["/cookies"]],
    "a session" => [["/visits"], ["/visits"], ["/visits"]],
    "a redirect" => [["/redirect"]],
    "a followed redirect" => [["/redirect", "--location"]],
    "HEAD" => [["/", "--head"]],
    "HEAD of a missing page" => [["/nowhere", "--head"]],
    "204" => [["/empty"]],
    "404" => [["/nowhere"]],
    "streamed download of 50 MB" => [["/download"]]
  }.freeze

  UPLOAD = File.join(ServerProcess::DIRECTORY, "upload")

  class << self
    # @return [Array<Hash>] the answers of a scenario, comparable
    def play(server, scenario, version: :h1)
      Dir.mktmpdir("jar", ServerProcess::DIRECTORY) do |directory|
        jar = File.join(directory, "jar")
        SCENARIOS.fetch(scenario).map do |path, *arguments|
          arguments = arguments.map { |argument| argument.sub("UPLOAD", upload) }
          comparable(Curl.curl(server, path, "--cookie", jar, "--cookie-jar", jar, *arguments, version: version))
        end
      end
    end

    private

    def upload
      File.binwrite(UPLOAD, Random.new(7).bytes(20_000_000)) unless File.exist?(UPLOAD)
      UPLOAD
    end

    def comparable(answer)
      # curl prints the head of an answer to HEAD as its body.
      head = answer.body.start_with?("HTTP/")
      shared = answer.fields.reject { |field| OWN.include?(field.first) || (head && field == EMPTIED) }
      fields = shared.map { |name, value| "#{name}: #{value.sub(SECRET, '\1=')}" }
      body = answer.body.bytesize > 4096 ? "#{answer.body.bytesize} bytes, SHA-256 #{answer.digest}" : answer.body
      body = "" if head
      { curl: [answer.exit_status, answer.message], status: answer.status, fields: fields.sort, body: body }
    end
  end
end

RSpec.shared_examples "Puma's answers" do |application|
  before(:context) { @puma = PumaProcess.start(rackup: File.join(EnvoyProcess::APPS, "#{application}.ru")) }
  after(:context) { @puma&.stop }

  [1, 2].each do |concurrency|
    context "with --concurrency #{concurrency}" do
      serve application, concurrency: concurrency

      %i[h1 h2].product(Parity::SCENARIOS.keys).each do |version, scenario|
        it "gives over #{version}: #{scenario}" do
          expected = Parity.play(@puma, scenario)
          expect(expected).to all(include(curl: [0, ""], status: be_between(200, 404)))
          expect(Parity.play(server, scenario, version: version)).to eq(expected)
        end
      end
    end
  end
end
