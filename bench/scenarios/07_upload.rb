# frozen_string_literal: true

# A request body of 100 KB that the application reads.

Bench::Scenario.define("upload", "upload of 100 KB", app: "upload", connections: 50, upload_bytes: 100_000)
