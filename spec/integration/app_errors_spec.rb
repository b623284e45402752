# frozen_string_literal: true

# Whatever an application raises ends its own request with 500 and not the server, and the client learns nothing of it.

require "support/integration"

RSpec.describe "an application that fails" do
  serve "failing"

  # What the log must say of it.
  logged = {
    "error" => "RuntimeError", "no-method" => "NoMethodError", "exception" => "Exception",
    "no-memory" => "NoMemoryError", "huge-allocation" => "ArgumentError",
    "script-error" => "NotImplementedError", "load-error" => "LoadError",
    "syntax-error" => "SyntaxError", "system-exit" => "SystemExit", "exit" => "SystemExit", "abort" => "SystemExit",
    "interrupt" => "Interrupt", "signal" => "SignalException", "throw" => "UncaughtThrowError",
    "stop-iteration" => "StopIteration", "timeout" => "Async::TimeoutError", "deep-recursion" => "SystemStackError",
    "deep-recursion-through-c" => "SystemStackError", "deep-recursion-through-hash" => "SystemStackError",
    "raising-message" => "Gruff", "binary-message" => "RuntimeError", "child-task" => "RuntimeError"
  }

  it "is tried in every way that the application knows" do
    expect(get("/names").body.split("\n")).to match_array(logged.keys + ["stopped-task"])
  end

  %i[h1 h2].product(logged.to_a).each do |version, (failure, name)|
    it "gets 500 over #{version}: #{failure}" do
      before = server.log.bytesize
      answer = get("/app/#{failure}", version: version)
      expect([answer.exit_status, answer.status]).to eq([0, 500])
      expect(answer["x-ruvoy-error"]).to match(/\A[a-z-]+\z/)
      expect(answer["content-type"]).to start_with("text/plain")
      expect(answer.body.lines.size).to eq(1)
      expect(answer.body + answer.fields.join).not_to match(/secret|#{name}|failing\.ru|did not fail/)

      log = wait_until("the log has it") { server.log.byteslice(before..).then { |text| text if text.include?(name) } }
      expect(log).to include("failing.ru")
      expect(get("/hello").body).to eq("hello")
    end
  end

  it "gets 500 if it stops its own task" do
    expect(get("/app/stopped-task").status).to eq(500)
    expect(get("/hello").body).to eq("hello")
  end
end
