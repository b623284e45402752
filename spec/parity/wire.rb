# frozen_string_literal: true

# Sends raw bytes to a server and takes what comes back apart into facets that can be compared.

require "socket"
require "support/http1"

module Parity
  # What differs from server to server by right, and is compared nowhere: its own fields, how a body without a length
  # is framed, and the variables of its own that it gives the application.
  module Wire
    OWN_FIELDS = %w[date server connection keep-alive transfer-encoding].freeze
    OWN_VARIABLES = %w[SERVER_SOFTWARE GATEWAY_INTERFACE REQUEST_PATH HTTP_X_FORWARDED_PROTO HTTP_X_REQUEST_ID
                       HTTP_X_ENVOY_EXTERNAL_ADDRESS].freeze
    USABLE = "GET /ignore HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n"

    Answer = Struct.new(:version, :status, :fields, :body, :cut) do
      def values(name) = fields.filter_map { |key, value| value if key == name }
      def last? = version == "1.0" || values("connection").any? { |value| value.match?(/close/i) }
    end

    module_function

    # @param server [ServerProcess]
    # @param bytes [String] one request or several
    # @param one [Case]
    # @param patience [Numeric] seconds
    # @return [Hash{String => Object}] facets
    def facets(server, one, patience)
      socket = connect(server, patience)
      socket.write(one.bytes)
      facets = {}
      last = nil
      one.answers.times { |number| break unless (last = answer(socket, facets, number.zero? ? "" : "#{number}.", one)) }
      facets["usable"] = usable?(socket, last) unless last.nil? || own?(last, one)
      facets
    rescue Errno::EPIPE, Errno::ECONNRESET
      facets
    ensure
      socket&.close
    end

    def connect(server, patience)
      TCPSocket.new("127.0.0.1", server.port).tap do |socket|
        socket.timeout = patience
        socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1)
      end
    end

    # Reads an answer and adds its facets; the interim ones before it are facets of it.
    def answer(socket, facets, prefix, one)
      while (answer = read(socket, one.verb)) && answer.status.between?(100, 199) && answer.status != 101
        # Sent only if the body has not come yet.
        next if answer.status == 100

        facets["#{prefix}interim"] = "#{answer.status} #{answer.fields.reject do |name, _|
          OWN_FIELDS.include?(name)
        end.inspect}"
      end
      facets["#{prefix}status"] = answer&.status
      facets.merge!(shown(answer).transform_keys { |name| prefix + name }) unless answer.nil? || own?(answer, one)
      answer
    end

    # An answer that is not the application's is compared by its status alone.
    def own?(answer, one)
      return answer.status != 200 unless one.bytes.include?(" /response/")

      answer.values("x-ruvoy-error").any? || (answer.status >= 400 && answer.values("content-type").empty?)
    end

    def shown(answer)
      facets = { "version" => answer.version, "cut" => answer.cut }
      names = answer.fields.map(&:first).uniq - OWN_FIELDS
      names.each { |name| facets["header #{name}"] = answer.values(name) }
      return facets.merge("body" => answer.body) unless answer.values("content-type") == ["text/x-env"]

      facets.delete("header content-length")
      variables = answer.body.lines(chomp: true).to_h { |line| line.split("=", 2) }
      facets.merge(variables.except(*OWN_VARIABLES))
    end

    # Whether the connection still serves, for a client that was not told otherwise.
    def usable?(socket, last)
      return false if last.last? || last.cut

      socket.write(USABLE)
      answer = read(socket, "GET")
      answer&.body == "ignored"
    rescue SystemCallError
      false
    end

    def read(socket, verb)
      version, status = socket.gets("\r\n").to_s.match(%r{\AHTTP/(1\.[01]) (\d{3})})&.captures
      return if status.nil?

      answer = Answer.new(version, status.to_i, read_fields(socket), nil, false)
      answer.body = if verb == "HEAD" || [204,
                                          304].include?(answer.status) || answer.status < 200
                      ""
                    else
                      read_body(socket,
                                answer)
                    end
      answer
    rescue Errno::ECONNRESET
      nil
    rescue IO::TimeoutError
      Answer.new("1.1", 0, [], "nothing came", true)
    end

    def read_fields(socket)
      fields = []
      while (line = socket.gets("\r\n", chomp: true)) && !line.empty?
        name, value = line.split(":", 2)
        fields << [name.downcase, value.to_s.strip]
      end
      fields
    end

    def read_body(socket, answer)
      if answer.values("transfer-encoding") == ["chunked"]
        chunks(socket, answer)
      elsif (length = answer.values("content-length").first&.then { |value| value[/\A\d+\z/]&.to_i })
        body = socket.read(length).to_s
        answer.cut = body.bytesize < length
        body
      else
        socket.read.to_s
      end
    rescue Errno::ECONNRESET
      answer.cut = true
      ""
    end

    def chunks(socket, answer)
      body = "".b
      loop do
        size = socket.gets("\r\n") or break answer.cut = true
        break read_fields(socket) if size.hex.zero?

        chunk = socket.read(size.hex + 2) or break answer.cut = true
        body << chunk.delete_suffix("\r\n")
      end
      body
    end
  end
end
