-- For wrk: what a run was, as one line of JSON. Latencies are microseconds.

function done(summary, latency)
    local errors = summary.errors
    io.write(string.format(
        '\n{"requests":%d,"seconds":%.6f,"p50":%.1f,"p99":%.1f,"refused":%d,"broken":%d}\n',
        summary.requests, summary.duration / 1e6, latency:percentile(50), latency:percentile(99),
        errors.status, errors.connect + errors.read + errors.write + errors.timeout))
end
