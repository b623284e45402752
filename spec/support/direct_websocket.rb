# frozen_string_literal: true

# The echo of spec/apps/websocket.ru on async-http alone, without Ruvoy and Rack: prints its port and serves.

require "async"
require "async/http/endpoint"
require "async/http/server"
require "async/websocket/adapters/http"

echo = lambda do |request|
  answer = Async::WebSocket::Adapters::HTTP.open(request) do |connection|
    while (message = connection.read)
      connection.write(message)
      connection.flush
    end
  end
  answer || Protocol::HTTP::Response[426]
end

$stdout.sync = true
Sync do
  endpoint = Async::HTTP::Endpoint.parse("http://127.0.0.1:0")
  bound = endpoint.bound
  puts "listens on port #{bound.sockets.first.to_io.local_address.ip_port}"
  Async::HTTP::Server.for(bound, protocol: endpoint.protocol, scheme: "http", &echo).run
end
