-- Sends one body again and again, and prints what was counted as one line of JSON.
function init(args)
  wrk.method = "POST"
  wrk.headers["Content-Type"] = "application/json"
  wrk.body = args[1]
end

function done(summary, latency)
  local of = {}
  for _, percent in ipairs({ 10, 25, 50, 75, 90, 95, 99, 99.9, 99.99 }) do
    of[#of + 1] = string.format("[%s,%d]", percent / 100, latency:percentile(percent))
  end
  local errors = summary.errors
  io.write(string.format(
    '{"requests":%d,"bytes":%d,"duration_us":%d,"connect":%d,"read":%d,"write":%d,"status":%d,"timeout":%d,' ..
    '"least_us":%d,"mean_us":%f,"most_us":%d,"quantiles":[%s]}\n',
    summary.requests, summary.bytes, summary.duration, errors.connect, errors.read, errors.write, errors.status,
    errors.timeout, latency.min, latency.mean, latency.max, table.concat(of, ",")))
end
