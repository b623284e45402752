# frozen_string_literal: true

# Serves a rackup with Falcon on a free port of loopback: falcon_server.rb RACKUP [CERTIFICATE KEY]. What `falcon serve`
# runs in each of its processes, without the supervision, which serves no request.

require "falcon/server"
require "async/http/endpoint"
require "openssl"
require "rack"

rackup, certificate, key = ARGV
context = certificate && OpenSSL::SSL::SSLContext.new.tap do |ssl|
  ssl.add_certificate(OpenSSL::X509::Certificate.new(File.read(certificate)), OpenSSL::PKey.read(File.read(key)))
  ssl.alpn_select_cb = ->(protocols) { (%w[h2 http/1.1] & protocols).first }
  ssl.session_id_context = "falcon"
end
app = Falcon::Server.middleware(Protocol::Rack::Adapter.parse_file(rackup), cache: false)

Async do
  bound = IO::Endpoint.tcp("127.0.0.1", 0).bound
  port = bound.sockets.first.local_address.ip_port
  url = URI("#{context ? "https" : "http"}://127.0.0.1:#{port}")
  endpoint = Async::HTTP::Endpoint.new(url, bound, **{ ssl_context: context }.compact)
  $stdout.sync = true
  puts "listening on #{port}"
  Falcon::Server.new(app, endpoint, protocol: endpoint.protocol, scheme: endpoint.scheme).run
end
