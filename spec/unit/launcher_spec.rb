# frozen_string_literal: true

# Finding Envoy and the module, and what is handed to exec; no Envoy runs here.

require "spec_helper"
require "fileutils"
require "ruvoy"
require "socket"
require "stringio"
require "tmpdir"

RSpec.describe Ruvoy::Launcher do
  around { |example| Dir.mktmpdir { |directory| (@directory = directory) && example.run } }

  attr_reader :directory

  def executable(name, text = "#!/bin/sh\n")
    File.join(directory, name).tap do |path|
      FileUtils.mkdir_p(File.dirname(path))
      File.write(path, text)
      File.chmod(0o755, path)
    end
  end

  def envoy(version)
    executable("envoy-#{version}", <<~SH)
      #!/bin/sh
      echo
      echo "$0  version: 6eb0d2/#{version}/Clean/RELEASE/BoringSSL"
    SH
  end

  def without_gem
    error = Gem::MissingSpecError.new("ruvoy-envoy", nil)
    allow(Gem::Specification).to receive(:find_by_name).with("ruvoy-envoy").and_raise(error)
  end

  def with_gem
    specification = instance_double(Gem::Specification, gem_dir: directory)
    allow(Gem::Specification).to receive(:find_by_name).with("ruvoy-envoy").and_return(specification)
  end

  describe ".find_envoy" do
    it "prefers RUVOY_ENVOY" do
      with_gem
      executable("bin/envoy")
      path = executable("mine")
      expect(described_class.find_envoy("RUVOY_ENVOY" => path, "PATH" => directory)).to eq(path)
    end

    it "takes the gem's next" do
      with_gem
      executable("envoy")
      path = executable("bin/envoy")
      expect(described_class.find_envoy("RUVOY_ENVOY" => "", "PATH" => directory)).to eq(path)
    end

    it "takes the one on PATH last" do
      without_gem
      path = executable("envoy")
      expect(described_class.find_envoy("PATH" => "/nonexistent:#{directory}")).to eq(path)
    end

    it "refuses a RUVOY_ENVOY that cannot be executed" do
      path = File.join(directory, "nothing")
      expect { described_class.find_envoy("RUVOY_ENVOY" => path, "PATH" => "") }
        .to raise_error(Ruvoy::UsageError, "RUVOY_ENVOY is #{path}, which is not an executable file")
    end

    it "names the three places if there is none" do
      without_gem
      expect { described_class.find_envoy("PATH" => directory) }
        .to raise_error(Ruvoy::UsageError, /RUVOY_ENVOY.*ruvoy-envoy.*PATH/)
    end
  end

  describe ".envoy_version" do
    it "asks the binary" do
      expect(described_class.envoy_version(envoy("1.39.3"))).to eq("1.39.3")
      expect(described_class.envoy_version(envoy("1.40.0"))).to eq("1.40.0")
    end

    it "refuses an old Envoy" do
      expect { described_class.envoy_version(envoy("1.38.9")) }.to raise_error(Ruvoy::UsageError, /1\.38\.9.*1\.39/)
    end

    it "refuses what is not Envoy, and what does not run" do
      expect { described_class.envoy_version(executable("other")) }.to raise_error(Ruvoy::UsageError, /is not Envoy/)
      expect { described_class.envoy_version(executable("broken", "#!/nonexistent\n")) }
        .to raise_error(Ruvoy::UsageError, /cannot run/)
    end
  end

  describe ".find_module" do
    let(:abi) { RUBY_VERSION[/\A\d+\.\d+/] }

    it "takes the one of the running ABI" do
      executable("3.9/libruvoy_fiber.so")
      path = executable("#{abi}/libruvoy_fiber.so")
      expect(described_class.find_module(["/nonexistent", directory])).to eq(path)
    end

    it "prefers the one for libruby's name" do
      stub_const("RbConfig::CONFIG", RbConfig::CONFIG.merge("RUBY_SO_NAME" => "ruby-of-debian"))
      executable("#{abi}/libruvoy_fiber.so")
      path = executable("#{abi}/ruby-of-debian/libruvoy_fiber.so")
      expect(described_class.find_module([directory])).to eq(path)
    end

    it "names the ABIs that there are, and the running Ruby" do
      %w[3.10 3.9].each { |other| executable("#{other}/libruvoy_fiber.so") }
      expect { described_class.find_module([directory]) }
        .to raise_error(Ruvoy::UsageError, "no module for Ruby #{abi} (#{RUBY_VERSION} runs; " \
                                           "there are modules for: 3.9, 3.10)")
    end

    it "says if there are none at all" do
      expect { described_class.find_module([directory]) }.to raise_error(Ruvoy::UsageError, /modules for: none/)
    end
  end

  describe ".environment" do
    def stub_libruby(libdir, shared: "yes")
      stub_const("RbConfig::CONFIG", RbConfig::CONFIG.merge("LIBRUBY_SO" => "libruby.so", "archlibdir" => nil,
                                                            "libdir" => libdir, "ENABLE_SHARED" => shared))
    end

    it "tells the loader where libruby is if it would not look there, and keeps the old value" do
      executable("libruby.so")
      stub_libruby(directory)
      expect(described_class.environment({})).to eq("LD_LIBRARY_PATH" => directory, "RUVOY_LD_LIBRARY_PATH" => "")
      expect(described_class.environment("LD_LIBRARY_PATH" => "/a:/b"))
        .to eq("LD_LIBRARY_PATH" => "#{directory}:/a:/b", "RUVOY_LD_LIBRARY_PATH" => "/a:/b")
    end

    it "leaves the loader alone if libruby is where it looks" do
      allow(File).to receive(:exist?).and_return(true)
      %w[/usr/lib /usr/lib64 /lib /usr/lib/aarch64-linux-gnu].each do |libdir|
        stub_libruby(libdir)
        expect(described_class.environment("LD_LIBRARY_PATH" => "/a")).to eq({})
      end
    end

    it "refuses a Ruby without a shared libruby" do
      stub_libruby(directory)
      expect { described_class.environment({}) }.to raise_error(Ruvoy::UsageError, /--enable-shared/)
      executable("libruby.so")
      stub_libruby(directory, shared: "no")
      expect { described_class.environment({}) }.to raise_error(Ruvoy::UsageError, /--enable-shared/)
    end
  end

  describe "#launch" do
    let(:options) do
      Ruvoy::CLI::Options.new(rackup: "/app/config.ru", address: "127.0.0.1", port: 0, concurrency: 2, trusted_hops: 0)
    end
    let(:launcher) { described_class.new(options) }
    let(:executed) { [] }

    before do
      allow(described_class).to receive_messages(find_envoy: envoy("1.39.3"), find_module: "/gem/libruvoy_fiber.so",
                                                 environment: { "A" => "1" })
      allow(launcher).to receive(:exec) { |*arguments| executed.replace(arguments) }
    end

    def listen(address = "127.0.0.1")
      server = TCPServer.new(address, 0)
      yield server.local_address.ip_port
    ensure
      server&.close
    end

    it "becomes Envoy, with its configuration as an argument" do
      launcher.launch
      environment, path, *arguments = executed
      expect(environment).to include("A" => "1")
      expect(path).to end_with("envoy-1.39.3")
      expect(arguments).to eq(["--config-yaml", Ruvoy::Bootstrap.new(options, "/gem/libruvoy_fiber.so").to_json,
                               "--concurrency", "2", "--disable-hot-restart", "--log-level", "warning",
                               "--component-log-level", "dynamic_modules:info,main:off"])
    end

    it "passes a log level on" do
      options.log_level = "debug"
      launcher.launch
      expect(executed.last(2)).to eq(["--log-level", "debug"])
    end

    it "chooses free ports and has them announced" do
      options.admin_port = 0
      launcher.launch
      expect([options.port, options.admin_port]).to all(be > 0)
      expect(options.port).not_to eq(options.admin_port)
      expect(executed.first["RUVOY_ANNOUNCEMENT"]).to eq(
        "ruvoy #{Ruvoy::VERSION} serves http://127.0.0.1:#{options.port}, admin on " \
        "http://127.0.0.1:#{options.admin_port} (ruby #{RUBY_VERSION}, envoy 1.39.3)"
      )
    end

    it "warns of an Envoy that it was not built for" do
      allow(described_class).to receive(:find_envoy).and_return(envoy("1.41.0"))
      expect { launcher.launch }.to output(/\Aruvoy: Envoy 1\.41\.0 is newer .*before 1\.41.*\n\z/).to_stderr
      expect(executed).not_to be_empty
    end

    it "does not warn of those that it was built for" do
      allow(described_class).to receive(:find_envoy).and_return(envoy("1.40.7"))
      expect { launcher.launch }.not_to output.to_stderr
    end

    it "refuses a port in use, also on the wildcard" do
      listen do |port|
        options.port = port
        expect { launcher.launch }.to raise_error(Ruvoy::UsageError, "127.0.0.1:#{port} is in use")
        options.address = "0.0.0.0"
        expect { launcher.launch }.to raise_error(Ruvoy::UsageError, "0.0.0.0:#{port} is in use")
      end
      expect(executed).to be_empty
    end

    it "refuses an admin port in use" do
      listen do |port|
        options.admin_port = port
        expect { launcher.launch }.to raise_error(Ruvoy::UsageError, "127.0.0.1:#{port} is in use")
      end
    end

    it "refuses one port for both" do
      options.port = options.admin_port = 9901
      expect { launcher.launch }.to raise_error(Ruvoy::UsageError, /cannot share port 9901/)
    end

    it "refuses an address of another host" do
      options.address = "192.0.2.1"
      message = "cannot listen on 192.0.2.1:0: Cannot assign requested address"
      expect { launcher.launch }.to raise_error(Ruvoy::UsageError, message)
    end

    it "says if exec fails" do
      allow(launcher).to receive(:exec).and_raise(Errno::EACCES)
      expect { launcher.launch }.to raise_error(Ruvoy::UsageError, /cannot run .*envoy-1\.39\.3/)
    end
  end
end
