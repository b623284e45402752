# frozen_string_literal: true

# Serves a rackup with Falcon on a free port of loopback: falcon_server.rb RACKUP [CERTIFICATE KEY]. What `falcon serve`
# runs in each of its processes, without the supervision, which serves no request.

require "falcon/server"
require "forwardable"
require "async/http/endpoint"
require "openssl"
require "rack"
require "socket"

# Falcon's libraries ask the TLS socket what only newer versions of the gem openssl pass on.
missing = %i[remote_address timeout timeout= wait_readable wait_writable] - OpenSSL::SSL::SSLSocket.instance_methods
OpenSSL::SSL::SSLSocket.extend(Forwardable)
OpenSSL::SSL::SSLSocket.def_delegators(:to_io, *missing)

rackup, certificate, key = ARGV
context = certificate && OpenSSL::SSL::SSLContext.new.tap do |ssl|
  ssl.add_certificate(OpenSSL::X509::Certificate.new(File.read(certificate)), OpenSSL::PKey.read(File.read(key)))
  ssl.alpn_select_cb = ->(protocols) { (%w[h2 http/1.1] & protocols).first }
  ssl.session_id_context = "falcon"
end
app = Falcon::Server.middleware(Protocol::Rack::Adapter.parse_file(rackup), cache: false)

# A free port: what a bound socket of port 0 would be, but TLS endpoints bind for themselves.
port = TCPServer.open("127.0.0.1", 0) { |server| server.local_address.ip_port }
url = "#{context ? "https" : "http"}://127.0.0.1:#{port}"
endpoint = Async::HTTP::Endpoint.parse(url, **{ ssl_context: context }.compact)

$stdout.sync = true
puts "listens on #{port}"
Async { Falcon::Server.new(app, endpoint, protocol: endpoint.protocol, scheme: endpoint.scheme).run }
