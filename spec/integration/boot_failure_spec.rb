# frozen_string_literal: true

# An application that cannot boot makes Envoy refuse its configuration, with the Ruby error in the log.

require "support/integration"

RSpec.describe "an application that fails to boot" do
  def refuse(text, **) = EnvoyProcess.refuse(rackup: rackup(text), **)

  # The exit status is Envoy's own, not that of a signal.
  def expect_refusal(envoy, *messages)
    expect(envoy.exit_status.exitstatus).to be_a(Integer).and be_positive
    expect(envoy.log).to include(*messages)
  end

  it "is refused if it raises" do
    envoy = refuse("# a comment\nraise 'cannot connect'\nrun nil\n")
    expect_refusal(envoy, "RuntimeError", "cannot connect", "config.ru:2")
  end

  it "is refused if it raises something below Exception" do
    expect_refusal(refuse("raise NoMemoryError, 'no room'"), "NoMemoryError", "no room", "config.ru:1")
  end

  it "is refused if a file is missing" do
    expect_refusal(refuse("\n\nrequire 'no_such_library'"), "LoadError", "no_such_library", "config.ru:3")
  end

  it "is refused if its syntax is wrong" do
    expect_refusal(refuse("run ->(env) {\n"), "SyntaxError", "config.ru")
  end

  it "is refused if it exits" do
    expect_refusal(refuse("exit 0"), "SystemExit", "config.ru:1")
  end

  it "is refused if it never says run" do
    expect_refusal(refuse("use Rack::Head\n"), "missing run")
  end

  it "is refused if it takes longer than limits.boot_timeout_ms" do
    envoy = refuse("sleep\n", filter: { "limits" => { "boot_timeout_ms" => 300 } })
    expect_refusal(envoy, "limits.boot_timeout_ms")
  end

  it "is refused if the rackup is missing" do
    envoy = EnvoyProcess.refuse(rackup: "/nowhere/config.ru")
    expect_refusal(envoy, "/nowhere/config.ru")
  end
end
