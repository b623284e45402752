# frozen_string_literal: true

# The ten header fields that a browser sends.

Bench::Scenario.define(
  "headers", "no-op, 10 browser headers",
  body: "hello\n", note: "without Accept-Encoding, for which Falcon would compress",
  headers: {
    "User-Agent" => "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
    "Accept" => "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "Accept-Language" => "en-GB,en;q=0.7,de;q=0.3",
    "Cookie" => "session=4f2a9c0e8b7d6a5f; theme=dark; consent=yes",
    "Referer" => "http://example.test/some/earlier/page?with=query",
    "DNT" => "1",
    "Upgrade-Insecure-Requests" => "1",
    "Sec-Fetch-Dest" => "document",
    "Sec-Fetch-Mode" => "navigate",
    "Sec-Fetch-Site" => "same-origin"
  }
)
