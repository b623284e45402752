# frozen_string_literal: true

# The table of cases: requests as bytes, and each difference from Puma with the clause that justifies it.

require_relative "clauses"
require_relative "responses"

module Parity
  # @!attribute differs
  #   @return [Hash{String => Object}] the facets in which Ruvoy differs from Puma, with Ruvoy's values
  # @!attribute clause
  #   @return [Symbol, nil] why, by its name in CLAUSES
  Case = Struct.new(:name, :bytes, :verb, :answers, :differs, :clause, keyword_init: true)

  CASES = [] # rubocop:disable Style/MutableConstant -- filled by the files below
  HOST = "Host: a.test\r\n"

  # Shorthands for the files that fill the table.
  module Table
    module_function

    # @param name [String]
    # @param line [String] the request line
    # @param content [Array<String>] header fields, each with a line end (a bare LF becomes CR LF), and a body
    # @param options [Hash] :host, :answers, :differs, :clause
    def request(name, line, *content, **options)
      fields, body = content
      host = options.delete(:host) { HOST }
      raw(name, "#{line}\r\n#{host}#{fields.to_s.gsub("\n", "\r\n")}\r\n".b + body.to_s.b, **options)
    end

    # The same for bytes of any kind.
    def raw(name, bytes, answers: 1, differs: {}, clause: nil)
      raise "#{name}: a difference and its clause go together" if differs.empty? != clause.nil?

      CLAUSES.fetch(clause) if clause
      CASES << Case.new(name: name, bytes: bytes.b, verb: bytes.b[/\A[A-Z]+/], answers: answers, differs: differs,
                        clause: clause)
    end

    def get(name, target, **) = request(name, "GET #{target} HTTP/1.1", **)
    def fields(name, text, **) = request(name, "GET /a HTTP/1.1", text, **)
    def post(name, text, body, **) = request(name, "POST /a HTTP/1.1", text, body, **)

    # Options for a request that Ruvoy refuses with this status, that only Ruvoy serves, and that it serves without some
    # variables.
    def refused(clause, status = 400) = { differs: { "status" => status }, clause: clause }
    def served(clause) = refused(clause, 200)
    def without(clause, *names) = { differs: names.to_h { |name| [name, nil] }, clause: clause }

    # Facets of a path that is not as it was sent.
    def path(path) = { "PATH_INFO" => path.inspect, "REQUEST_URI" => path.inspect }

    # A GET and a HEAD for a response of the application.
    # @param differs [Hash] for both; :get and :head for one of them
    def answers(name, differs: {}, get: {}, head: {}, clause: nil)
      { "GET" => get, "HEAD" => head }.each do |verb, more|
        differences = differs.merge(more)
        request("#{verb} of #{name}", "#{verb} /response/#{name} HTTP/1.1", differs: differences,
                                                                            clause: differences.empty? ? nil : clause)
      end
    end
  end

  extend Table
end

require_relative "targets"
require_relative "header_fields"
require_relative "bodies"
require_relative "answers"
