#!/bin/sh
# Runs in a clean container: installs the gems in /gems as a user would, and serves /application with them.

set -eu

if ! command -v gem >/dev/null; then
  apt-get update
  apt-get install --yes --no-install-recommends ruby ca-certificates
fi

# The source gem must not be what makes it work.
mkdir /precompiled
cp /gems/*-linux.gem /precompiled
gem install --no-document /precompiled/*.gem

cd /application
ruvoy --port 8080 config.ru &
server=$!
ruby -rnet/http -e '
  attempts = 0
  begin
    answer = Net::HTTP.get_response(URI("http://127.0.0.1:8080/"))
  rescue SystemCallError
    raise if (attempts += 1) > 300
    sleep 0.1
    retry
  end
  puts answer.body
  exit answer.is_a?(Net::HTTPOK) && answer.body.include?(RUBY_VERSION)
'
kill -TERM "$server"
wait "$server"
gem uninstall --all --executables --ignore-dependencies ruvoy ruvoy-envoy
test -z "$(find "$(gem env home)" -path '*ruvoy*' -not -path '*/doc/*' -type f)"
