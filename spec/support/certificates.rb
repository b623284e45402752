# frozen_string_literal: true

# Certificates for TLS in specs: an authority and what it signs, in files that Envoy reads.

require "openssl"

class Certificates
  # @return [String] the path of the authority's certificate
  attr_reader :authority

  # @param directory [String] where the files go
  def initialize(directory)
    @directory = directory
    @key = OpenSSL::PKey::EC.generate("prime256v1")
    @certificate = build("authority", @key, ["basicConstraints", "CA:TRUE", true])
    @certificate.issuer = @certificate.subject
    @certificate.sign(@key, "SHA256")
    @authority = write("authority.pem", @certificate.to_pem)
  end

  # @param name [String] the subject's common name
  # @param san [String] the alternative names as OpenSSL has them, such as "DNS:a.test,URI:spiffe://a"
  # @return [Hash{Symbol => Object}] the paths :certificate and :key, and the :digest of the certificate
  def issue(name, san)
    key = OpenSSL::PKey::EC.generate("prime256v1")
    certificate = build(name, key, ["subjectAltName", san, false])
    certificate.issuer = @certificate.subject
    certificate.sign(@key, "SHA256")
    { certificate: write("#{name}.pem", certificate.to_pem), key: write("#{name}.key", key.to_pem),
      digest: OpenSSL::Digest::SHA256.hexdigest(certificate.to_der) }
  end

  private

  def build(name, key, extension)
    OpenSSL::X509::Certificate.new.tap do |certificate|
      certificate.version = 2
      certificate.serial = rand(1 << 64)
      certificate.subject = OpenSSL::X509::Name.parse("/CN=#{name}")
      certificate.public_key = key
      certificate.not_before = Time.now - 60
      certificate.not_after = Time.now + 3600
      certificate.add_extension(OpenSSL::X509::ExtensionFactory.new.create_extension(*extension))
    end
  end

  def write(name, text) = File.join(@directory, name).tap { |path| File.write(path, text) }
end
