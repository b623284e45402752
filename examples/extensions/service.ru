# frozen_string_literal: true

# The service that config.ru calls: it takes its time, which costs the others nothing.

run(lambda do |env|
  sleep 0.1
  [200, { "content-type" => "text/plain" }, ["#{env["PATH_INFO"].delete_prefix("/")}: calm\n"]]
end)
