//! The progress of a list in one line: the speed, and the estimated remaining time.

use std::fmt::Write as _;
use std::time::Duration;

use roundtrip_rdap::bulk::scheduler::ListProgress;
use roundtrip_rdap::client::Client;
use roundtrip_report::count;

/// Makes the progress line. `length` is the length of the list, if it is known before all of it is
/// read.
pub(super) fn line(
    tally: ListProgress,
    length: Option<u64>,
    client: &Client,
    took: Duration,
) -> String {
    let rate = tally.told as f64 / took.as_secs_f64().max(0.001);
    let all = length.or(tally.whole.then_some(tally.read));
    let mut line = match all {
        Some(all) => format!("{} of {all}", tally.told),
        None => format!("{} done, {} read", tally.told, tally.read),
    };
    // Writing to a string cannot fail.
    let servers = count(tally.lanes as u64, "server", "servers");
    let connections = client.pool().tally().connections;
    let connections = count(connections, "connection", "connections");
    let _ = write!(line, " · {rate:.0}/s · {servers} · {connections}");
    let out = client.waited_for();
    if let Some(server) = out.first() {
        let _ = write!(line, " · waiting for {server}");
        if out.len() > 1 {
            let _ = write!(line, " and {} more", out.len() - 1);
        }
    }
    if let Some(all) = all.filter(|_| rate > 0.0) {
        let left = all.saturating_sub(tally.told) as f64 / rate;
        let _ = write!(line, " · {} left", span(left));
    }
    line
}

fn span(seconds: f64) -> String {
    let seconds = seconds.ceil() as u64;
    match seconds {
        0..90 => format!("{seconds} s"),
        90..5400 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{:.1} h", seconds as f64 / 3600.0),
    }
}
