# frozen_string_literal: true

# TLS 1.3 on connections that stay open.

Bench::Scenario.define("tls", "no-op over TLS 1.3", body: "hello\n", tls: true)
