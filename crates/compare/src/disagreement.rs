//! Why a measurement differs from the arithmetic, according to the exchanges themselves. Pure
//! functions.

use roundtrip_model::{Exchange, Http, Memory, Waited};
use roundtrip_probe::ConnectionUse;
use roundtrip_report::ms;

use crate::outcome::MeasuredWay;

/// Smaller differences, as a share, are not disagreements.
const SHARE: f64 = 0.05;
const MIN_MS: f64 = 1.0;

/// Explains why measurement and prediction disagree; `None` if they agree, or if one is missing.
pub(crate) fn of(line: &MeasuredWay, baseline: &MeasuredWay, rtt: f64) -> Option<String> {
    let predicted = line.predicted?;
    let gap = line.median()? - predicted.ms;
    if gap.abs() <= (predicted.ms * SHARE).max(MIN_MS) {
        return None;
    }
    if let Some(idle) = &line.idle {
        return Some(idle.clone());
    }
    let told = line.typical().and_then(|s| s.last.as_deref()).map(detour);
    if let Some(why) = told.flatten() {
        return Some(why);
    }
    if let Some(why) = other_times(baseline, gap) {
        return Some(why);
    }
    if let Some(why) = finding(line, gap) {
        return Some(why);
    }
    if let Some(why) = losses(line).filter(|_| gap > 0.0) {
        return Some(why);
    }
    if let Some(counted) = line.round_trips()
        && (counted - predicted.round_trips).abs() >= 0.5
    {
        let (counted, expected) = (trips(counted), trips(predicted.round_trips));
        return Some(format!(
            "{counted} round trips were counted, where arithmetic predicts {expected}"
        ));
    }
    Some(by_party(line, baseline, rtt, gap))
}

/// Detects early data that was accepted, but not processed until the handshake was complete: the
/// answer is a round trip late, which looks like the server's time.
pub(crate) fn waits_for_handshake(
    line: &MeasuredWay,
    baseline: &MeasuredWay,
    rtt: f64,
) -> Option<String> {
    let mine = line.typical()?;
    let used = mine.last.as_ref()?.used;
    let later = mine.waited?.server - baseline.typical()?.waited?.server;
    let gap = line.median()? - line.predicted?.ms;
    // About a round trip, both in the total and in the server's part.
    let is_one = |ms: f64| (0.75..1.25).contains(&(ms / rtt));
    (used.memory == Memory::EarlyData && is_one(later) && is_one(gap)).then(|| {
        format!(
            "the server accepts early data, and answers {} ms later than it answers today: it waits until the handshake is complete, which is the wait that early data should avoid",
            ms(later)
        )
    })
}

/// A detour that the exchange reports.
fn detour(exchange: &Exchange) -> Option<String> {
    let tls = exchange.tls.as_ref();
    if exchange.quic.as_ref().is_some_and(|q| q.retry) {
        return Some("the server answered with a QUIC Retry, which costs a round trip".into());
    }
    if tls.is_some_and(|t| t.hello_retry) {
        return Some(
            "the server asked for another key share (HelloRetryRequest), which costs a round trip"
                .into(),
        );
    }
    (exchange.asked.reuse && !exchange.reused)
        .then(|| "the kept connection was closed before the request".into())
}

/// The exchanges behind the prediction differed in time from the measured ones, as the baseline
/// shows.
fn other_times(baseline: &MeasuredWay, gap: f64) -> Option<String> {
    let predicted = baseline.predicted?;
    let todays = baseline.median()? - predicted.ms;
    let counted = baseline.round_trips()? - predicted.round_trips;
    let same = todays.signum() == gap.signum() && todays.abs() >= gap.abs() / 2.0;
    let than = if todays > 0.0 { "faster" } else { "slower" };
    (same && counted.abs() < 0.5).then(|| {
        format!(
            "the prediction is based on exchanges that were {} ms {than} than those measured for today's way",
            ms(todays.abs())
        )
    })
}

/// The cause found in a typical run, if it costs most of the gap.
fn finding(line: &MeasuredWay, gap: f64) -> Option<String> {
    let findings = &line.typical()?.last.as_ref()?.findings;
    let dear = findings.iter().filter(|f| f.ms >= gap / 2.0 && gap > 0.0);
    let dearest = dear.max_by(|a, b| a.ms.total_cmp(&b.ms))?;
    Some(format!("{}: {}", dearest.id, dearest.evidence))
}

/// Losses that affected enough runs to move the median.
fn losses(line: &MeasuredWay) -> Option<String> {
    let lost = |e: &Exchange| {
        let tcp = e.tcp.as_ref();
        let segments = tcp.map_or(0, |t| u64::from(t.retransmits + t.syn_retransmits));
        segments + e.quic.as_ref().map_or(0, |q| q.lost_packets)
    };
    let runs = line.samples.iter().filter_map(|(_, s)| s.last.as_deref());
    let (all, with) = runs.fold((0, 0), |(all, with), e| {
        (all + 1, with + u32::from(lost(e) > 0))
    });
    (with * 3 > all).then(|| {
        let what = match line.way.strategy.http {
            Http::H3 => "a QUIC packet",
            _ => "a segment",
        };
        format!("in {with} of {all} runs {what} was lost or not answered, and sent again after a timeout")
    })
}

/// The party that took the time, if the round trips are as expected.
fn by_party(line: &MeasuredWay, baseline: &MeasuredWay, rtt: f64, gap: f64) -> String {
    let waited = |line: &MeasuredWay| line.typical().and_then(|s| s.waited);
    let (Some(mine), Some(todays)) = (waited(line), waited(baseline)) else {
        let gap = ms(gap.abs());
        return format!("{gap} ms that no observation explains");
    };
    // The network's time beyond its round trips: bytes in transit.
    let transfer =
        |line: &MeasuredWay, w: &Waited| w.network - line.round_trips().unwrap_or(0.0) * rtt;
    let body = transfer(line, &mine) - transfer(baseline, &todays);
    if line.way.manner == ConnectionUse::Kept && body < 0.0 && body.abs() >= gap.abs() / 2.0 {
        return format!(
            "the body came {} ms sooner than on a new connection, whose congestion window has to grow first",
            ms(body.abs())
        );
    }
    let parts = [
        ("the body's way took", body),
        ("the server took", mine.server - todays.server),
        ("this machine took", mine.client - todays.client),
        ("losses cost", mine.loss - todays.loss),
        ("names took", mine.resolver - todays.resolver),
        (
            "late answers of the server or the path took",
            mine.unknown - todays.unknown,
        ),
    ];
    let explains = parts
        .into_iter()
        .filter(|(_, change)| change.signum() == gap.signum() && change.abs() >= gap.abs() / 2.0)
        .max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
    match explains {
        Some((who, change)) => {
            let than = if change > 0.0 { "more" } else { "less" };
            format!("{who} {} ms {than} than today", ms(change.abs()))
        }
        None => format!("{} ms that no observation explains", ms(gap.abs())),
    }
}

/// `3`, `1.5`.
pub(crate) fn trips(n: f64) -> String {
    let text = format!("{n:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
