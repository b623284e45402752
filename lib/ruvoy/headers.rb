# frozen_string_literal: true

# Checks the application's header fields and flattens them into the Array that crosses to Rust; owner thread only.

require_relative "errors"

module Ruvoy
  # Turns a Rack headers Hash into a flat Array `[name, value, name, value, …]` of checked, lower-case fields.
  #
  # As lenient as Puma where that is harmless: upper-case and Symbol names are accepted, and a value that is neither
  # a String nor an Array is converted with `to_s` (so an Integer length and a URI work, and nil is an empty value).
  # As strict as Rack where it is not: a name that is no token, or a value with CR, LF or NUL, is refused.
  #
  # Names are checked once: the outcome is remembered, in a table of bounded size.
  class Headers
    CONTENT_LENGTH = "content-length"

    # How many names are remembered; a name beyond that is checked each time.
    MAX_NAMES = 512

    # RFC 9110 section 5.6.2.
    TOKEN = /\A[!#$%&'*+\-.^_`|~0-9A-Za-z]+\z/
    FORBIDDEN = /[\0\r\n]/
    FORBIDDEN_BYTES = /[\0\r\n]/n
    DIGITS = /\A[0-9]+\z/

    # Fields that describe one connection (RFC 9110 section 7.6.1); Envoy writes its own.
    HOP_BY_HOP = %w[connection keep-alive proxy-connection transfer-encoding te].freeze

    # What becomes of a name that is not simply sent.
    SPECIAL = {
      CONTENT_LENGTH => :content_length,
      "upgrade" => :upgrade,
      "rack.protocol" => :protocol
    }.merge(HOP_BY_HOP.to_h { |name| [name, :drop] }).freeze

    private_constant :TOKEN, :FORBIDDEN, :FORBIDDEN_BYTES, :DIGITS, :SPECIAL

    def initialize
      @names = {}
    end

    # @param headers [Hash] Rack's headers of a response, of early hints, or trailers
    # @param notes [Request, nil] told the content length, the protocol and the upgrade that the headers name;
    #   these are not part of the result
    # @return [Array<String>] names and values in turn
    # @raise [ContractError] where Rack's specification forbids a name or a value, or `headers` is no Hash
    def flatten(headers, notes = nil)
      headers = to_hash(headers) unless headers.is_a?(Hash)
      fields = []
      headers.each_pair do |name, value|
        known = @names[name] || learn(name)
        if known.is_a?(Symbol)
          note(notes, known, value) if notes
        elsif value.is_a?(String) && value.ascii_only? && !FORBIDDEN.match?(value) # nearly always
          fields << known << value
        else
          append(fields, known, value)
        end
      end
      fields
    end

    private

    def to_hash(headers)
      Hash.try_convert(headers) or raise ContractError, "the headers are no Hash, but #{headers.class}"
    end

    # @return [String, Symbol] the name as it is sent, or what to do instead
    def learn(name)
      text = name.is_a?(Symbol) ? name.name : name
      raise ContractError, "a header's name is no String, but #{name.class}" unless text.is_a?(String)
      raise ContractError, "#{text.inspect} is no header name" unless text.valid_encoding? && TOKEN.match?(text)

      lower = text.downcase
      known = SPECIAL[lower] || (lower.start_with?("rack.") ? :drop : -lower)
      @names[name] = known if @names.size < MAX_NAMES
      known
    end

    def append(fields, name, value)
      if value.is_a?(Array)
        value.each { |one| fields << name << check(name, one.to_s) }
      else
        text = value.to_s
        text.include?("\n") ? append_lines(fields, name, text) : fields << name << check(name, text)
      end
    end

    # Rack 2 put several values into one String, a line each.
    def append_lines(fields, name, text)
      text.b.split("\n").each { |line| fields << name << check(name, line) }
    end

    def check(name, value)
      bad = value.valid_encoding? ? FORBIDDEN.match?(value) : FORBIDDEN_BYTES.match?(value.b)
      raise ContractError, "the value of #{name} contains CR, LF or NUL: #{value.inspect}" if bad

      value
    end

    def note(notes, known, value)
      case known
      when :content_length then notes.content_length = length(value)
      when :protocol then notes.protocol = value
      when :upgrade then notes.upgrade = value
      end
    end

    def length(value)
      value = value.uniq.join(", ") if value.is_a?(Array)
      text = value.to_s
      return text.to_i if text.bytesize < 19 && DIGITS.match?(text)

      raise ContractError, "content-length is no number of bytes: #{text.inspect}"
    end
  end
end
