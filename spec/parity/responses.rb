# frozen_string_literal: true

# The responses of the parity application, by name: what an application may answer, and what it must not.

require "rack"

module Parity
  TEXT = { "content-type" => "text/plain" }.freeze

  # A body that is only enumerable.
  class Each
    def initialize(*chunks) = @chunks = chunks
    def each(&) = @chunks.each(&)
  end

  # A body whose to_ary is asked for before its each.
  class ToAry < Each
    def to_ary = @chunks
    def each = raise("each of a body with to_ary")
  end

  # A body that names a file. Puma may read it by each.
  class Path < Each
    attr_reader :to_path

    def initialize(path)
      @to_path = path
      super()
    end

    def each = yield(File.binread(@to_path))
  end

  class << self
    def stream(text) = ->(stream) { stream.write(text) && stream.close }

    def response(status: 200, headers: {}, body: ["body"]) = [status, TEXT.merge(headers), body]
  end

  STATUSES = [200, 201, 202, 203, 206, 207, 299, 300, 301, 304, 400, 401, 404, 405, 409, 410, 418, 422, 429, 451, 499, 500, 501, 502,
              503, 504, 511, 599].freeze

  RESPONSES = {
    # Statuses.
    **STATUSES.to_h { |status| ["status-#{status}", -> { response(status: status, body: status == 304 ? [] : ["body"]) }] },
    "status-string" => -> { response(status: "201") },
    "204" => -> { [204, {}, []] },
    "204-with-body" => -> { [204, {}, ["wrong"]] },
    "204-with-length" => -> { [204, { "content-length" => "0" }, []] },
    "205" => -> { [205, {}, []] },
    "304-with-body" => -> { [304, {}, ["wrong"]] },
    "304-with-length" => -> { [304, { "content-length" => "100", "etag" => '"a"' }, []] },
    # Kinds of bodies.
    "empty-array" => -> { response(body: []) },
    "empty-string" => -> { response(body: [""]) },
    "array" => -> { response(body: %w[one two three]) },
    "frozen" => -> { response(body: ["frozen"].freeze).freeze },
    "frozen-headers" => -> { [200, TEXT, ["frozen"]] },
    "each" => -> { response(body: Each.new("one", "two")) },
    "each-nothing" => -> { response(body: Each.new) },
    "each-empty-strings" => -> { response(body: Each.new("", "one", "", "two", "")) },
    "each-with-length" => -> { response(headers: { "content-length" => "6" }, body: Each.new("one", "two")) },
    "enumerator" => -> { response(body: %w[one two].each) },
    "lazy" => -> { response(body: %w[one two].lazy.map(&:upcase)) },
    "to-ary" => -> { response(body: ToAry.new("one", "two")) },
    "body-proxy" => -> { response(body: Rack::BodyProxy.new(%w[one two]) { nil }) },
    "call" => -> { response(body: stream("streamed")) },
    "call-with-length" => -> { response(headers: { "content-length" => "8" }, body: stream("streamed")) },
    "to-path" => -> { response(body: Path.new(__FILE__)) },
    "to-path-with-length" => lambda {
      response(headers: { "content-length" => File.size(__FILE__).to_s }, body: Path.new(__FILE__))
    },
    "file" => -> { response(body: File.open(__FILE__)) },
    "array-with-length" => -> { response(headers: { "content-length" => "4" }) },
    "array-with-integer-length" => -> { response(headers: { "content-length" => 4 }) },
    "large" => -> { response(body: ["x" * 300_000]) },
    "large-each" => -> { response(body: Each.new(*Array.new(30) { |number| number.to_s * 10_000 })) },
    "binary" => -> { response(body: ["\x00\xFF\r\n\r\n".b]) },
    "utf-8" => -> { response(headers: { "content-type" => "text/plain; charset=utf-8" }, body: ["Grüße, 日本"]) },
    "utf-16" => -> { response(body: ["Grüße".encode("UTF-16LE")]) },
    "encodings" => -> { response(body: ["Grüße".encode("ISO-8859-1"), "日本", "\xFF".b]) },
    # Header fields.
    "array-value" => -> { response(headers: { "x-a" => %w[1 2 3] }) },
    "newline-value" => -> { response(headers: { "x-a" => "1\n2\n3" }) },
    "two-cookies" => -> { response(headers: { "set-cookie" => ["a=1; path=/", "b=2"] }) },
    "newline-cookies" => -> { response(headers: { "set-cookie" => "a=1; path=/\nb=2" }) },
    "empty-array-value" => -> { response(headers: { "x-a" => [] }) },
    "empty-value" => -> { response(headers: { "x-a" => "" }) },
    "space-value" => -> { response(headers: { "x-a" => "  1  " }) },
    "inner-space" => -> { response(headers: { "x-a" => "1  \t 2" }) },
    "utf-8-value" => -> { response(headers: { "x-a" => "Grüße" }) },
    "latin-value" => -> { response(headers: { "x-a" => "Gr\xFC\xDFe".b }) },
    "integer-value" => -> { response(headers: { "x-a" => 42 }) },
    "upper-case-name" => -> { response(headers: { "X-Upper-Case" => "1" }) },
    "mixed-case-length" => -> { response(headers: { "Content-Length" => "4" }) },
    "underscore-name" => -> { response(headers: { "x_a" => "1" }) },
    "token-name" => -> { response(headers: { "!#$%&'*+-.^_`|~9a" => "1" }) },
    "rack-name" => -> { response(headers: { "rack.secret" => "1" }) },
    "long-value" => -> { response(headers: { "x-a" => "a" * 8000 }) },
    "many-fields" => -> { response(headers: (1..90).to_h { |number| ["x-#{number}", number.to_s] }) },
    "own-date" => -> { response(headers: { "date" => "Tue, 15 Nov 1994 08:12:31 GMT" }) },
    "own-server" => -> { response(headers: { "server" => "mine" }) },
    "no-content-type" => -> { [200, {}, ["body"]] },
    "location" => -> { response(status: 302, headers: { "location" => "/a?b=c#d" }) },
    "link" => -> { response(headers: { "link" => ["</a>; rel=preload", "</b>; rel=preload"] }) },
    "connection-close" => -> { response(headers: { "connection" => "close" }) },
    "connection-names-a-field" => -> { response(headers: { "connection" => "x-a", "x-a" => "1" }) },
    "keep-alive" => -> { response(headers: { "keep-alive" => "timeout=5" }) },
    "own-transfer-encoding" => lambda {
      response(headers: { "transfer-encoding" => "chunked" }, body: ["4\r\nbody\r\n0\r\n\r\n"])
    },
    "upgrade-unasked" => -> { response(headers: { "upgrade" => "websocket" }) },
    "trailer-name" => -> { response(headers: { "trailer" => "x-a" }) },
    "body-header-pair" => -> { response(headers: { "content-encoding" => "identity" }) },
    # What the contract forbids.
    "raise" => -> { raise "secret" },
    "nil" => -> {},
    "two-elements" => -> { [200, {}] },
    "status-0" => -> { response(status: 0) },
    "status-99" => -> { response(status: 99) },
    "status-600" => -> { response(status: 600) },
    "status-100" => -> { response(status: 100) },
    "status-101" => -> { response(status: 101) },
    "status-103" => -> { response(status: 103) },
    "status-nil" => -> { response(status: nil) },
    "status-word" => -> { response(status: "fine") },
    "headers-nil" => -> { [200, nil, ["body"]] },
    "crlf-value" => -> { response(headers: { "x-a" => "1\r\nx-evil: 1" }) },
    "cr-value" => -> { response(headers: { "x-a" => "1\rx-evil: 1" }) },
    "nul-value" => -> { response(headers: { "x-a" => "1\0" }) },
    "crlf-name" => -> { response(headers: { "x-a: 1\r\nx-evil" => "1" }) },
    "space-name" => -> { response(headers: { "x a" => "1" }) },
    "colon-name" => -> { response(headers: { "x:a" => "1" }) },
    "empty-name" => -> { response(headers: { "" => "1" }) },
    "utf-8-name" => -> { response(headers: { "x-ü" => "1" }) },
    "symbol-name" => -> { response(headers: { "x-a": "1" }) },
    "nil-value" => -> { response(headers: { "x-a" => nil }) },
    "length-word" => -> { response(headers: { "content-length" => "many" }) },
    "length-negative" => -> { response(headers: { "content-length" => "-1" }) },
    "length-twice" => -> { response(headers: { "content-length" => %w[4 5] }) },
    "length-too-long" => -> { response(headers: { "content-length" => "9" }) },
    "length-too-short" => -> { response(headers: { "content-length" => "2" }) },
    "body-nil" => -> { response(body: nil) },
    "body-string" => -> { response(body: "a string") },
    "body-of-integers" => -> { response(body: [1, 2]) },
    "to-path-missing" => -> { response(body: Path.new("/nonexistent")) }
  }.freeze
end
