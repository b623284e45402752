# frozen_string_literal: true

# Parity cases: request lines and Host.

module Parity
  get "the root", "/"
  get "a path", "/a/b"
  get "an encoded slash", "/a%2Fb"
  get "an encoded slash in lower case", "/a%2fb"
  get "two slashes", "//a//b"
  get "a trailing slash", "/a/"
  get "a parent segment", "/a/../b", differs: path("/b"), clause: :dot_segments
  get "a dot segment", "/a/./b", differs: path("/a/b"), clause: :dot_segments
  get "an encoded parent segment", "/a/%2e%2e/b", differs: path("/b"), clause: :dot_segments
  get "a parent of the root", "/../b", differs: path("/b"), clause: :dot_segments
  get "a parent segment with a parameter", "/a/..;/b", differs: path("/b"), clause: :dot_segments
  get "a parent segment at the end", "/a/..", differs: path("/"), clause: :dot_segments
  get "a dot segment at the end", "/a/.", differs: path("/a/"), clause: :dot_segments
  get "dots in a query", "/a?/../b"
  get "a backslash", "/a\\b", differs: path("/a/b"), clause: :not_in_a_uri
  get "an encoded backslash", "/a%5Cb"
  get "an encoded backslash after dots", "/a/..%5Cb"
  get "an encoded letter", "/%61", differs: path("/a"), clause: :unreserved
  get "an encoded ü", "/%C3%BC"
  get "an encoded byte that is no UTF-8", "/%FC"
  get "a ü", "/ü", **refused(:ascii_target)
  get "a byte that is no UTF-8", "/\xFC", **refused(:ascii_target)
  get "a ü in a query", "/a?ü", **refused(:ascii_target)
  get "an encoded NUL", "/a%00b", **refused(:encoded_nul)
  get "an encoded line end", "/a%0D%0Ab"
  get "a percent sign before no digits", "/a%zzb"
  get "a percent sign at the end", "/a%"
  get "a trailing question mark", "/a?"
  get "two question marks", "/a??b"
  get "a question mark in a query", "/a?b?c"
  get "a query", "/a?b=c&d=%20+e"
  get "a query of the root", "/?a"
  get "a fragment", "/a#b", **refused(:no_fragment)
  get "a fragment after a query", "/a?b#c", **refused(:no_fragment)
  get "a semicolon", "/a;b=c"
  get "sub-delimiters", "/a!$&'()*+,=:@b"
  get "a tilde", "/~a"
  get "brackets", "/a[b]"
  get "a bar", "/a|b", differs: path("/a%7Cb"), clause: :not_in_a_uri
  get "a quotation mark", '/a"b', **served(:not_in_a_uri)
  get "angle brackets", "/a<b>", **served(:not_in_a_uri)
  get "a space", "/a b"
  get "a tab", "/a\tb"
  get "a NUL", "/a\0b"
  get "a DEL", "/a\x7Fb"
  get "no slash", "a"
  get "no target", ""
  get "a question mark alone", "?a"
  get "a long target", "/#{"a" * 8000}"
  get "a longer target", "/#{"a" * 15_000}", **served(:long_target)
  get "a target that is too long", "/#{"a" * 20_000}", **refused(:long_target, 414)
  get "a target that is longer than all fields may be", "/#{"a" * 70_000}", **refused(:large_fields, 431)

  # The absolute form.
  b_test = { "HTTP_HOST" => '"b.test"', "SERVER_NAME" => '"b.test"' }
  get "an absolute target", "http://b.test/c?d", differs: { **b_test, "REQUEST_URI" => '"/c?d"' },
                                                 clause: :host_of_target
  get "an absolute target with a port", "http://b.test:81/c",
      differs: { **b_test, "HTTP_HOST" => '"b.test:81"', "SERVER_PORT" => '"81"', "REQUEST_URI" => '"/c"' }, clause: :host_of_target
  get "an absolute target without a path", "http://b.test", differs: { **b_test, **path("/") }, clause: :host_of_target
  get "an absolute target of IPv6", "http://[::1]:81/c",
      differs: { "HTTP_HOST" => '"[::1]:81"', "SERVER_NAME" => '"[::1]"', "SERVER_PORT" => '"81"', "REQUEST_URI" => '"/c"' },
      clause: :host_of_target
  get "an absolute target with a user", "http://u:p@b.test/c", differs: { **b_test, "REQUEST_URI" => '"/c"' },
                                                               clause: :host_of_target
  get "an absolute target without Host", "http://b.test/c", host: "", differs: { **b_test, "REQUEST_URI" => '"/c"' },
                                                            clause: :host_of_target
  get "an absolute target with a query and no path", "http://b.test?d", **refused(:absolute_query, 404)
  get "an absolute target of https", "https://b.test/c", **refused(:no_tls, 403)
  get "an absolute target of another scheme", "ftp://b.test/c", **refused(:http_scheme)
  get "an absolute target without a host", "http:///c", **refused(:no_authority)

  # Methods.
  %w[POST PUT PATCH DELETE OPTIONS TRACE].each { |verb| request "the method #{verb}", "#{verb} /a HTTP/1.1" }
  %w[PROPFIND PURGE LINK].each { |verb| request "the method #{verb}", "#{verb} /a HTTP/1.1", **served(:any_method) }
  %w[QUERY G FOO-BAR M-SEARCH].each { |verb| request "the method #{verb}", "#{verb} /a HTTP/1.1", **refused(:unknown_method) }
  request "a method in lower case", "get /a HTTP/1.1"
  request "a method that is no token", "G(T /a HTTP/1.1"
  request "a method with a control character", "G\x01T /a HTTP/1.1"
  request "no method", " /a HTTP/1.1"
  names = %w[REQUEST_METHOD SCRIPT_NAME PATH_INFO QUERY_STRING REQUEST_URI SERVER_NAME SERVER_PORT SERVER_PROTOCOL
             HTTP_HOST REMOTE_ADDR rack.url_scheme]
  nothing = { **names.to_h { |name| [name, nil] }, "body" => "", "header content-type" => nil, "header content-length" => ["0"] }
  request "OPTIONS *", "OPTIONS * HTTP/1.1", differs: nothing, clause: :server_options
  get "GET *", "*", **refused(:asterisk_form)
  request "CONNECT", "CONNECT b.test:443 HTTP/1.1", **refused(:connect)
  request "CONNECT of a path", "CONNECT /a HTTP/1.1", **refused(:connect)
  request "CONNECT without a port", "CONNECT b.test HTTP/1.1"

  # Versions.
  request "HTTP/1.0", "GET /a HTTP/1.0"
  request "HTTP/1.0 without Host", "GET /a HTTP/1.0", host: "", differs: { "HTTP_HOST" => '"localhost"' },
                                                      clause: :default_host
  request "HTTP/1.0 that keeps alive", "GET /a HTTP/1.0", "Connection: keep-alive\n",
          differs: { "HTTP_CONNECTION" => nil }, clause: :hop_by_hop
  request "HTTP/1.0 and a body without a length", "GET /response/each HTTP/1.0"
  request "HTTP/1.0 and a streaming body", "GET /response/call HTTP/1.0"
  request "HTTP/1.0 with a body", "POST /a HTTP/1.0", "Content-Length: 3\n", "abc"
  request "HTTP/1.0 that expects 100", "POST /a HTTP/1.0", "Expect: 100-continue\nContent-Length: 3\n", "abc"
  request "HTTP/1.0 and early hints", "GET /hints HTTP/1.0"
  request "HTTP/1.2", "GET /a HTTP/1.2", differs: { "SERVER_PROTOCOL" => '"HTTP/1.0"' }, clause: :version
  request "HTTP/2.0 as a version of HTTP/1", "GET /a HTTP/2.0", differs: { "SERVER_PROTOCOL" => '"HTTP/1.0"' },
                                                                clause: :version
  request "HTTP/1.10", "GET /a HTTP/1.10", **refused(:bad_version)
  request "a version in lower case", "GET /a http/1.1"
  request "a version without a minor", "GET /a HTTP/1."
  request "a version without a dot", "GET /a HTTP/11"
  request "another protocol", "GET /a HTTX/1.1"
  raw "HTTP/0.9", "GET /a\r\n", **served(:simple_request)
  raw "a TLS handshake", "\x16\x03\x01\x02\x00\x01\x00\x01\xFC\x03\x03\r\n\r\n"

  # Host.
  request "no Host", "GET /a HTTP/1.1", host: "", **refused(:host_required)
  request "an empty Host", "GET /a HTTP/1.1", host: "Host: \r\n", clause: :empty_host,
                                              differs: { "HTTP_HOST" => nil, "SERVER_NAME" => '"localhost"' }
  request "two Hosts", "GET /a HTTP/1.1", "Host: b.test\n", **refused(:one_host)
  request "the same Host twice", "GET /a HTTP/1.1", "Host: a.test\n", **refused(:one_host)
  { "with a port" => "a.test:81", "of IPv6" => "[::1]", "of IPv6 with a port" => "[::1]:81", "of IPv4" => "192.0.2.1:81",
    "in upper case" => "A.Test", "with an underscore" => "a_b.test", "with a dot at the end" => "a.test.",
    "with a large port" => "a.test:99999" }.each do |kind, host|
    request "a Host #{kind}", "GET /a HTTP/1.1", host: "Host: #{host}\r\n"
  end
  request "a Host with an empty port", "GET /a HTTP/1.1", host: "Host: a.test:\r\n", differs: { "SERVER_PORT" => '"80"' },
                                                          clause: :default_port
  { "with a user" => "u@a.test", "with a path" => "a.test/b", "with a space" => "a b", "with a comma" => "a.test, b.test",
    "with a word as its port" => "a.test:x" }.each do |kind, host|
    request "a Host #{kind}", "GET /a HTTP/1.1", host: "Host: #{host}\r\n", **refused(:valid_host)
  end
end
