-- The request that wrk sends, and its results as one line of JSON. Arguments: bytes to upload (0: a GET).

function init(arguments)
  local bytes = tonumber(arguments[1])
  if bytes > 0 then
    wrk.method = "POST"
    wrk.headers["Content-Type"] = "application/octet-stream"
    wrk.body = string.rep("x", bytes)
  end
end

function done(summary, latency)
  local errors = summary.errors
  print(string.format(
    'RESULT {"requests":%d,"seconds":%f,"p50_us":%d,"p99_us":%d,"max_us":%d,"bytes":%d,"errors":%d,"timeouts":%d}',
    summary.requests, summary.duration / 1e6, latency:percentile(50), latency:percentile(99), latency.max, summary.bytes,
    errors.connect + errors.read + errors.write + errors.status, errors.timeout))
end
