# frozen_string_literal: true

# Parity cases: header fields of requests.

module Parity
  fields "one field", "X-A: 1\n"
  fields "a repeated field", "X-A: 1\nX-A: 2\n"
  fields "a repeated field in different case", "X-A: 1\nx-a: 2\n"
  fields "a repeated empty field", "X-A: \nX-A: 2\n"
  fields "a repeated field that Envoy knows", "Accept: a/b\nAccept: c/d\n", differs: { "HTTP_ACCEPT" => '"a/b,c/d"' },
                                                                            clause: :comma
  fields "two cookie fields", "Cookie: a=1\nCookie: b=2\n", differs: { "HTTP_COOKIE" => '"a=1; b=2"' }, clause: :cookies
  fields "one cookie field", "Cookie: a=1; b=2\n"
  fields "an empty cookie field", "Cookie: \n"
  fields "an empty value", "X-A: \n"
  fields "an empty value without a space", "X-A:\n"
  fields "a value without a space", "X-A:1\n"
  fields "space around a value", "X-A: \t 1 \t\n"
  fields "space in a value", "X-A: 1  2\n"
  fields "a tab in a value", "X-A: 1\t2\n"
  fields "UTF-8 in a value", "X-A: ü\n"
  fields "Latin-1 in a value", "X-A: \xFC\n".b
  fields "a NUL in a value", "X-A: 1\0002\n"
  fields "a control character in a value", "X-A: 1\x012\n"
  fields "a DEL in a value", "X-A: 1\x7F2\n"
  fields "a CR in a value", "X-A: 1\r2\n", **served(:bare_cr)
  fields "a folded value", "X-A: 1\n 2\n", **served(:obs_fold)
  fields "a field that begins with a fold", " X-A: 1\n"
  fields "a space before the colon", "X-A : 1\n"
  fields "a tab before the colon", "X-A\t: 1\n"
  fields "no colon", "XA\n"
  fields "no name", ": 1\n"
  fields "a name that is no token", "X(A: 1\n"
  fields "a name with a ü", "X-ü: 1\n"
  fields "a name of all token characters", "X!#$%&'*+.^`|~9: 1\n"
  fields "a long name", "#{"a" * 300}: 1\n", **served(:large_fields)
  fields "a long value", "X-A: #{"a" * 8000}\n"
  fields "a longer value", "X-A: #{"a" * 40_000}\n"
  fields "a value that is too long", "X-A: #{"a" * 70_000}\n", **refused(:large_fields, 431)
  fields "ninety fields", (1..90).map { |number| "X-#{number}: 1\n" }.join
  fields "too many fields", (1..110).map { |number| "X-#{number}: 1\n" }.join, **refused(:large_fields, 431)

  # Names that mean something to servers and frameworks.
  fields "an underscore in a name", "X_A: 1\n", **refused(:underscores)
  fields "X_Forwarded_For", "X_Forwarded_For: 192.0.2.1\n", **refused(:underscores)
  fields "Content_Length", "Content_Length: 9\n", **refused(:underscores)
  fields "X-Forwarded-For", "X-Forwarded-For: 192.0.2.1\n"
  fields "X-Forwarded-Proto", "X-Forwarded-Proto: https\n", clause: :forwarded_proto,
                                                            differs: { "SERVER_PORT" => '"80"', "rack.url_scheme" => '"http"' }
  fields "X-Forwarded-Host", "X-Forwarded-Host: c.test\n"
  fields "X-Forwarded-Port", "X-Forwarded-Port: 443\n"
  fields "Forwarded", "Forwarded: for=192.0.2.1\n"
  fields "X-Real-IP", "X-Real-IP: 192.0.2.1\n"
  fields "Proxy", "Proxy: http://evil.test\n", **without(:httpoxy, "HTTP_PROXY")
  fields "Envoy's own fields", "X-Envoy-Internal: true\nX-Envoy-Original-Path: /b\n",
         **without(:internal_names, "HTTP_X_ENVOY_INTERNAL", "HTTP_X_ENVOY_ORIGINAL_PATH")
  fields "HTTP-X", "HTTP-X: 1\n"
  fields "Rack.Input", "Rack.Input: 1\n"
  fields "Content-Type of a GET", "Content-Type: text/plain\n"
  fields "Content-Type twice", "Content-Type: a/b\nContent-Type: c/d\n", differs: { "CONTENT_TYPE" => '"a/b,c/d"' },
                                                                         clause: :comma
  ["Authorization: Basic eDp5", "Accept-Encoding: gzip", "Accept-Language: de", "Range: bytes=0-1", "If-None-Match: \"a\"", "Via: 1.1 b",
   "Max-Forwards: 1", "Date: yesterday", "Origin: null", "Referer: http://c.test/", "User-Agent: a/1 (b)", "Trailer: X-T",
   "Sec-WebSocket-Key: x", "Content-Encoding: gzip", "DNT: 1", "Priority: u=1", "Save-Data: on"].each do |field|
    fields field[/[^:]+/], "#{field}\n"
  end

  # The connection's own.
  fields "TE: trailers", "TE: trailers\n"
  fields "TE: gzip", "TE: gzip\n", **without(:te, "HTTP_TE")
  fields "Connection: keep-alive", "Connection: keep-alive\n", **without(:hop_by_hop, "HTTP_CONNECTION")
  fields "Connection: close", "Connection: close\n", **without(:hop_by_hop, "HTTP_CONNECTION")
  fields "a field that Connection names", "Connection: X-A\nX-A: 1\n",
         **without(:hop_by_hop, "HTTP_CONNECTION", "HTTP_X_A")
  fields "Keep-Alive", "Keep-Alive: timeout=5\n", **without(:hop_by_hop, "HTTP_KEEP_ALIVE")
  fields "Proxy-Connection", "Proxy-Connection: keep-alive\n", **without(:hop_by_hop, "HTTP_PROXY_CONNECTION")
  %w[foo walrus web websocket2 WEBSOCKETS h2 tls/1.0].each do |protocol|
    fields "an upgrade to #{protocol}", "Connection: Upgrade\nUpgrade: #{protocol}\n",
           **without(:no_upgrade, "HTTP_CONNECTION", "HTTP_UPGRADE")
  end
  fields "an upgrade to h2c", "Connection: Upgrade, HTTP2-Settings\nUpgrade: h2c\nHTTP2-Settings: AAMAAABkAAQAAP__\n",
         **without(:no_upgrade, "HTTP_CONNECTION", "HTTP_UPGRADE")
  fields "Upgrade without Connection", "Upgrade: websocket\n", **without(:hop_by_hop, "HTTP_UPGRADE")
  fields "a WebSocket that nobody wants", "Connection: Upgrade\nUpgrade: websocket\nSec-WebSocket-Key: eA==\nSec-WebSocket-Version: 13\n",
         differs: { "usable" => false }, clause: :upgrade_ends
  fields "a WebSocket among others", "Connection: Upgrade\nUpgrade: foo, websocket\n",
         differs: { "HTTP_UPGRADE" => '"websocket"', "usable" => false }, clause: :no_upgrade

  # Line ends.
  raw "bare line feeds", "GET /a HTTP/1.1\nHost: a.test\n\n", **served(:line_ends)
  raw "one bare line feed", "GET /a HTTP/1.1\r\nHost: a.test\nX-A: 1\r\n\r\n", **served(:line_ends)
  raw "an empty line first", "\r\nGET /a HTTP/1.1\r\n#{HOST}\r\n", **served(:empty_lines)
  raw "two spaces", "GET  /a HTTP/1.1\r\n#{HOST}\r\n", **served(:loose_line)
  raw "a space at the end of the line", "GET /a HTTP/1.1 \r\n#{HOST}\r\n", **served(:loose_line)
end
