# frozen_string_literal: true

# Fails in every way that an application can; each message holds "secret".

class Gruff < Exception # rubocop:disable Lint/InheritException
  def message = raise("secret message")
end

def dive = dive + 1
def dive_through_c = [0].each { dive_through_c }
def dive_through_hash = Hash.new { |hash, key| hash[key + 1] }[0]

FAILURES = {
  "error" => -> { raise "secret" },
  "no-method" => -> { nil.secret },
  "exception" => -> { raise Exception, "secret" }, # rubocop:disable Lint/RaiseException
  "no-memory" => -> { raise NoMemoryError, "secret" },
  "huge-allocation" => -> { "secret" * (2**61) },
  "script-error" => -> { raise NotImplementedError, "secret" },
  "load-error" => -> { require "secret" },
  "syntax-error" => -> { eval("secret(") }, # rubocop:disable Style/EvalWithLocation
  "system-exit" => -> { raise SystemExit, "secret" },
  "exit" => -> { exit(3) },
  "abort" => -> { abort("secret") },
  "interrupt" => -> { raise Interrupt, "secret" },
  "signal" => -> { raise SignalException, "SIGTERM" },
  "throw" => -> { throw :secret },
  "stop-iteration" => -> { raise StopIteration, "secret" },
  "timeout" => -> { Async::Task.current.with_timeout(0.001) { sleep } },
  "deep-recursion" => -> { dive },
  "deep-recursion-through-c" => -> { dive_through_c },
  "deep-recursion-through-hash" => -> { dive_through_hash },
  "raising-message" => -> { raise Gruff },
  "binary-message" => -> { raise "secret \xFF\x00\r\n" },
  "child-task" => -> { Async { raise "secret" }.wait },
  "stopped-task" => -> { Async::Task.current.stop }
}.freeze

fail_in_app = lambda do |env|
  FAILURES.fetch(env["PATH_INFO"].delete_prefix("/")).call
  [200, {}, ["it did not fail"]]
end

use Rack::Lint
map("/app") { run fail_in_app }
map("/names") { run ->(_env) { [200, { "content-type" => "text/plain" }, [FAILURES.keys.join("\n")]] } }
map("/hello") { run ->(_env) { [200, { "content-type" => "text/plain" }, ["hello"]] } }

# The same after some of the body is out.
map("/body") do
  run(lambda do |env|
    failure = FAILURES.fetch(env["PATH_INFO"].delete_prefix("/"))
    body = Enumerator.new do |chunks|
      chunks << "some of it"
      failure.call
    end
    [200, { "content-type" => "text/plain" }, body]
  end)
end
