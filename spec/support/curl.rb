# frozen_string_literal: true

# Runs the real curl, whose exit status is a client's own opinion of an answer.

require "digest"
require "open3"
require "tmpdir"

module Curl
  VERSIONS = { h1: "--http1.1", h2: "--http2-prior-knowledge" }.freeze

  Answer = Struct.new(:exit_status, :status, :fields, :body, :message, keyword_init: true) do
    def ok? = exit_status.zero?

    # @return [String, nil] the values of a header, joined
    def [](name)
      values = fields.filter_map { |key, value| value if key == name }
      values.join(", ") unless values.empty?
    end

    def digest = Digest::SHA256.hexdigest(body)
  end

  module_function

  # @param server [ServerProcess]
  # @param path [String] path and query
  # @param arguments [Array<String>] curl's own
  # @param version [Symbol] :h1 or :h2
  # @return [Answer]
  def curl(server, path, *arguments, version: :h1)
    Dir.mktmpdir("curl", ServerProcess::DIRECTORY) do |directory|
      head, body = %w[head body].map { |name| File.join(directory, name) }
      _, message, status = Open3.capture3(
        *command(server, version), "--show-error", "--max-time", "120", "--dump-header", head, "--output", body,
        *arguments, "http://example.test#{path}"
      )
      answer(status, message, head, body)
    end
  end

  # Starts curl with its output on a pipe that the block reads at its own pace, to the end; ends it if the block fails.
  # @yieldparam output [IO]
  # @return [Array(Object, Integer)] the block's value and curl's exit status
  def curl_pipe(server, path, *arguments, version: :h1)
    output = IO.popen([*command(server, version), "--no-buffer", *arguments, "http://example.test#{path}"], "rb")
    value = yield output
    output.close
    [value, Process.last_status.exitstatus]
  ensure
    unless output.nil? || output.closed?
      Process.kill(:KILL, output.pid)
      output.close
    end
  end

  # The authority is the same for every server, so that answers can be compared.
  def command(server, version)
    ["curl", "--silent", "--path-as-is", "--noproxy", "*", "--connect-to", "example.test:80:127.0.0.1:#{server.port}",
     VERSIONS.fetch(version)]
  end

  def answer(status, message, head, body)
    blocks = File.exist?(head) ? File.binread(head).split("\r\n\r\n") : []
    lines = blocks.grep(%r{\AHTTP/\S+ [2-5]}).last.to_s.split("\r\n")
    fields = lines.drop(1).map { |line| line.split(":", 2).then { |name, value| [name.downcase, value.strip] } }
    Answer.new(exit_status: status.exitstatus, status: lines.first.to_s[%r{\AHTTP/\S+ (\d+)}, 1].to_i, fields: fields,
               body: File.exist?(body) ? File.binread(body) : "".b, message: message)
  end
end
