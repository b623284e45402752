# frozen_string_literal: true

# A self-signed certificate for 127.0.0.1, made once a run.

require "openssl"
require "support/server_process"

module Bench
  # Its files lie in the directory that the servers' own files are in, which is removed at the end.
  module Certificate
    DAY_S = 86_400

    module_function

    # @return [String] the certificate's file
    def path = files.first

    # @return [String] the private key's file
    def key = files.last

    def files
      @files ||= begin
        key = OpenSSL::PKey::EC.generate("prime256v1")
        %w[certificate.pem key.pem].zip([certificate(key).to_pem, key.to_pem]).map do |name, text|
          File.join(ServerProcess::DIRECTORY, name).tap { |file| File.write(file, text) }
        end
      end
    end

    def certificate(key)
      name = OpenSSL::X509::Name.new([%w[CN 127.0.0.1]])
      OpenSSL::X509::Certificate.new.tap do |certificate|
        certificate.version = 2
        certificate.serial = 1
        certificate.subject = certificate.issuer = name
        certificate.public_key = key
        certificate.not_before = Time.now - DAY_S
        certificate.not_after = Time.now + DAY_S
        certificate.sign(key, OpenSSL::Digest.new("SHA256"))
      end
    end
  end
end
