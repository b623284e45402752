# frozen_string_literal: true

# Resources of many kinds, as a careful author would write them.

require "zlib"

NOW = Time.now.httpdate
TEXT = "Grüße\n" * 100
headers = { "content-type" => "text/plain; charset=utf-8", "cache-control" => "max-age=60", "last-modified" => NOW,
            "etag" => '"a"', "vary" => "accept-encoding" }

resources = {
  "/text" => -> { [200, headers, [TEXT]] },
  "/stream" => -> { [200, headers, TEXT.lines.each] },
  "/file" => -> { [200, headers, File.open(__FILE__)] },
  "/gzip" => -> { [200, headers.merge("content-encoding" => "gzip"), [Zlib.gzip(TEXT)]] },
  "/json" => -> { [200, { "content-type" => "application/json", "cache-control" => "no-store" }, ["{}"]] },
  "/cookies" => lambda do
    [200, { "content-type" => "text/plain", "cache-control" => "no-store",
            "set-cookie" => ["a=1; path=/; httponly; secure; samesite=lax", "b=2; path=/; secure"] }, ["set"]]
  end,
  "/redirect" => -> { [302, { "location" => "/text", "content-type" => "text/plain" }, ["moved"]] },
  "/empty" => -> { [204, { "cache-control" => "no-store" }, []] },
  "/not-modified" => -> { [304, headers.slice("cache-control", "etag", "vary", "last-modified"), []] },
  "/trailers" => nil,
  "/error" => -> { raise "an error" }
}

run(lambda do |env|
  next [404, { "content-type" => "text/plain" }, ["not found"]] unless resources.key?(env["PATH_INFO"])
  next resources.fetch(env["PATH_INFO"]).call unless env["PATH_INFO"] == "/trailers"

  env["ruvoy.trailers"] = { "x-sum" => "1" }
  [200, headers.merge("trailer" => "x-sum"), ["body"].each]
end)
