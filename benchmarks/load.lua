-- Requests of wrk: the bodies of a file, one a line, one after the other. What it saw becomes a line of JSON.
local requests, number = {}, 0

function init(arguments)
  for line in io.lines(arguments[1]) do
    requests[#requests + 1] = wrk.format("POST", "/v1/predict", {["Content-Type"] = "application/json"}, line)
  end
end

function request()
  number = number % #requests + 1
  return requests[number]
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '{"requests": %d, "rate": %.3f, "errors": %d, "p50": %.3f, "p95": %.3f, "p99": %.3f}\n',
    summary.requests, summary.requests / summary.duration * 1e6,
    errors.connect + errors.read + errors.write + errors.status + errors.timeout,
    latency:percentile(50) / 1e3, latency:percentile(95) / 1e3, latency:percentile(99) / 1e3))
end
