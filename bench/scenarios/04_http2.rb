# frozen_string_literal: true

# HTTP/2 with prior knowledge, many streams on few connections.

Bench::Scenario.define(
  "http2", "no-op over HTTP/2, 10 connections of 10 streams",
  http2: true, connections: 10, streams: 10, body: "hello\n", note: "Puma itself has no HTTP/2"
)
