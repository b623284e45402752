# frozen_string_literal: true

# The same input gives the same bytes, whatever the clock, the modes and the umask say.

require "spec_helper"
require "digest"
require "fileutils"
require "open3"
require "packaging/support/packages"
require "rbconfig"
require "tmpdir"

RSpec.describe "Packing", skip: Packages.missing do
  # What packing reads.
  let(:packed) { "{*,{bin,exe,ext,lib,rakelib,sig}/**/*}" }

  around { |example| Dir.mktmpdir { |path| (@directory = path) && example.run } }

  # @return [String] the digest of the source gem packed from a copy of the checkout
  def pack(name, umask)
    copy = File.join(@directory, name)
    Dir.mkdir(copy)
    Dir.glob(packed, base: Packages::ROOT).select { |path| File.file?("#{Packages::ROOT}/#{path}") }
       .each { |path| copy_file(copy, path, umask) }
    output, status = Open3.capture2e(RbConfig.ruby, Gem.bin_path("rake", "rake"), "gem", chdir: copy)
    expect(status).to be_success, output
    Digest::SHA256.file("#{copy}/pkg/ruvoy-#{Ruvoy::VERSION}.gem").hexdigest
  end

  # As git would check it out with that umask.
  def copy_file(copy, path, umask)
    target = File.join(copy, path)
    FileUtils.mkdir_p(File.dirname(target))
    FileUtils.cp(File.join(Packages::ROOT, path), target)
    File.chmod((File.executable?(target) ? 0o777 : 0o666) & ~umask, target)
    File.utime(Time.at(umask * 1_000_000), Time.at(umask * 1_000_000), target)
  end

  it "gives the same gem twice" do
    digests = [pack("one", 0o022), pack("another", 0o002)]
    expect(digests.uniq.size).to eq(1)
    expect(digests.first).to eq(Digest::SHA256.file(Packages.source).hexdigest)
  end
end
