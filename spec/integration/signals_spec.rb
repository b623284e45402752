# frozen_string_literal: true

# Signals stay Envoy's: the VM changes no handler, and SIGTERM ends the process with Envoy's status.

require "support/integration"

RSpec.describe "signals" do
  # An Envoy without the module, to compare with.
  without_module = lambda do |bootstrap|
    manager = bootstrap.dig("static_resources", "listeners", 0, "filter_chains", 0, "filters", 0, "typed_config")
    type = "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"
    manager["http_filters"] = [{ "name" => "envoy.filters.http.router", "typed_config" => { "@type" => type } }]
  end

  # Envoy does not use it; the VM interrupts system calls of Ruby threads with it.
  ruby_own = 1 << (Signal.list.fetch("VTALRM") - 1)

  define_method(:masks) do |server|
    { caught: server.proc_status("SigCgt").hex & ~ruby_own, ignored: server.proc_status("SigIgn").hex,
      blocked: server.proc_status("SigBlk").hex }
  end

  it "have the handlers of an Envoy without the module" do
    expected = EnvoyProcess.start(configure: without_module) { |server| masks(server) }
    EnvoyProcess.start do |server|
      expect(masks(server)).to eq(expected)
      expect(curl(server, "/").status).to eq(200)
      expect(masks(server)).to eq(expected)
    end
  end

  %i[TERM INT].each do |name|
    it "SIG#{name} ends an idle server with Envoy's status" do
      EnvoyProcess.start do |server|
        expect(curl(server, "/").status).to eq(200)
        server.signal(name)
        expect(server.wait_for_exit.exitstatus).to eq(0)
        expect(server.log).not_to match(/panic|Segmentation|Caught/)
      end
    end
  end

  # What the handler of Envoy logs, which the VM's own would not.
  { SEGV: "Segmentation fault", ABRT: "Aborted" }.each do |name, words|
    it "SIG#{name} from outside is reported by Envoy" do
      EnvoyProcess.start do |server|
        expect(curl(server, "/").status).to eq(200)
        server.signal(name)
        expect(server.wait_for_exit.termsig).to eq(Signal.list.fetch(name.to_s))
        expect(server.log).to include("Caught #{words}")
      end
    end
  end

  it "SIGUSR1 reopens Envoy's logs and disturbs nothing" do
    EnvoyProcess.start do |server|
      server.signal(:USR1)
      expect(curl(server, "/").status).to eq(200)
    end
  end
end
