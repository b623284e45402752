# frozen_string_literal: true

# Tells what kind of Ruby process the application lives in, one question a path.

require "json"

QUESTIONS = {
  "encoding" => -> { [Encoding.default_external, Encoding.default_internal, __ENCODING__].map(&:to_s) },
  "signals" => -> { File.read("/proc/self/status").scan(/^(Sig(?:Cgt|Ign|Blk)):\s*(\h+)$/) },
  "openssl" => lambda do
    require "openssl"
    OpenSSL::Digest::SHA256.hexdigest("") + OpenSSL::PKey::EC.generate("prime256v1").group.curve_name
  end,
  "json" => -> { JSON.parse(JSON.generate("a" => [1, 2.5, nil]))["a"] },
  "io-event" => lambda do
    require "io/event"
    Fiber.scheduler.instance_variable_get(:@selector).class.name
  end,
  "pg" => lambda do
    require "pg"
    [PG.library_version.positive?, PG::Connection.escape_string("it's")]
  end,
  "stringio" => lambda do
    require "stringio"
    StringIO.new("abc").read
  end,
  "subprocess" => -> { IO.popen(%w[echo hi], &:read) },
  "load-path" => -> { $LOAD_PATH },
  "features" => -> { $LOADED_FEATURES },
  "rubyopt" => -> { defined?(RUVOY_SPEC_REQUIRED) },
  "program" => -> { [$PROGRAM_NAME, Dir.pwd, RUBY_ENGINE] }
}.freeze

use Rack::Lint
run lambda { |env|
  answer = QUESTIONS.fetch(env["PATH_INFO"].delete_prefix("/")).call
  [200, { "content-type" => "application/json" }, [JSON.generate([answer])]]
}
