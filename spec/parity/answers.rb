# frozen_string_literal: true

# Parity cases: a GET and a HEAD for each response of responses.rb, and what differs.

module Parity
  no_length = { "header content-length" => nil }

  differences = {
    "status-304" => { differs: no_length, clause: :no_body_length },
    "304-with-body" => { get: no_length, clause: :no_body_length },
    "205" => { head: no_length, clause: :head_length },
    # An Array that is empty may be what a middleware left of the body.
    **%w[empty-array empty-string to-ary body-proxy].to_h do |name|
      [name, { head: no_length, clause: :head_length }]
    end,
    # Puma closes after a streaming body.
    **%w[call call-with-length].to_h { |name| [name, { get: { "usable" => true }, clause: :own_connection }] },
    "connection-close" => { differs: { "usable" => true }, clause: :own_connection },
    "upgrade-unasked" => { differs: { "header upgrade" => nil }, clause: :own_connection },
    "own-transfer-encoding" => { get: { "header content-length" => ["14"], "body" => "4\r\nbody\r\n0\r\n\r\n" },
                                 head: { "header content-length" => ["14"] }, clause: :own_connection },
    "empty-array-value" => { differs: { "header x-a" => nil }, clause: :empty_values },
    "two-elements" => { head: { "status" => 500 }, clause: :own_error },
    **%w[status-0 status-99 status-600 status-100 status-101 status-103 status-nil status-word]
                .to_h { |name| [name, refused(:status_range, 500)] },
    **%w[crlf-value cr-value nul-value].to_h { |name| [name, refused(:field_value, 500)] },
    **%w[crlf-name space-name colon-name empty-name utf-8-name].to_h { |name| [name, refused(:field_name, 500)] },
    **%w[length-word length-negative].to_h { |name| [name, refused(:length_value, 500)] },
    **%w[length-too-long length-too-short].to_h do |name|
      [name, { get: { "status" => 500 }, clause: :length_of_body }]
    end,
    "body-string" => { get: { "status" => 500 }, clause: :rack_body },
    "to-path-missing" => { get: { "status" => 500 }, clause: :own_error }
  }

  RESPONSES.each_key { |name| answers(name, **differences.fetch(name, {})) }
end
