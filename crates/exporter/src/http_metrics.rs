//! Metrics from the exchanges of a probe: those of blackbox_exporter, then ours.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use roundtrip_model::{Exchange, PhaseName};
use roundtrip_report::Party;

use crate::certificates;
use crate::config::HttpModule;
use crate::probe::{Hops, KindRun};
use crate::text::MetricText;

/// The phases of blackbox_exporter, and our phases that they consist of.
const PHASES: [(&str, &[PhaseName]); 5] = [
    ("connect", &[PhaseName::Tcp, PhaseName::Proxy]),
    ("processing", &[PhaseName::Request, PhaseName::FirstByte]),
    ("resolve", &[PhaseName::Setup, PhaseName::Name]),
    ("tls", &[PhaseName::Tls, PhaseName::Quic]),
    ("transfer", &[PhaseName::Body]),
];

/// The HTTP version as Go writes it, such as `1.1`, and as a number.
pub(crate) fn version(of: &str) -> (String, f64) {
    let number = of.parse().unwrap_or(0.0);
    let word = if of.contains('.') {
        of.to_owned()
    } else {
        format!("{of}.0")
    };
    (format!("HTTP/{word}"), number)
}

/// The metrics of a probe that could not begin.
pub(crate) fn nothing() -> KindRun {
    let mut text = MetricText::default();
    let last = Exchange::default();
    answer(&last, &mut text);
    rest(0, &last, 0, &mut text);
    KindRun {
        metrics: text,
        ..KindRun::default()
    }
}

/// The metrics of a probe whose body had `length` bytes without its coding.
pub(crate) fn metrics(hops: &Hops<'_>, module: &HttpModule, length: usize) -> KindRun {
    let mut text = MetricText::default();
    let Some((last, _)) = hops.iter().last() else {
        return nothing();
    };
    answer(last, &mut text);
    phases(hops, &mut text);
    rest(hops.iter().count(), last, length, &mut text);
    if let Some(tls) = &last.tls {
        let is_complete = last
            .failure
            .as_ref()
            .is_none_or(|failure| failure.phase != PhaseName::Tls);
        let verified = is_complete.then(|| module.tls_config.is_verified());
        certificates::metrics(tls, verified, &mut text);
    }
    explained(hops, &mut text);
    KindRun {
        lookup: Some(hops.spent(&[PhaseName::Name])),
        address: address(last),
        metrics: text,
        ..KindRun::default()
    }
}

/// The address that answered or, if none did, that was tried.
pub(crate) fn address(last: &Exchange) -> Option<IpAddr> {
    let peer = last.tcp.as_ref().and_then(|tcp| tcp.peer);
    let peer = peer.or_else(|| last.quic.as_ref().and_then(|quic| quic.peer));
    let tried = || last.attempts.first().map(|attempt| attempt.peer);
    peer.or_else(tried).map(|peer| peer.ip())
}

fn answer(last: &Exchange, text: &mut MetricText) {
    let http = last.http.as_ref();
    let length = http.and_then(|http| {
        // These statuses have no content. RFC 9110 §6.4.1.
        if matches!(http.status, 204 | 304) {
            return Some(0.0);
        }
        let value = std::str::from_utf8(http.header("content-length")?).ok()?;
        value.trim().parse::<f64>().ok()
    });
    text.gauge(
        "probe_http_content_length",
        "Length of http content response",
        if http.is_some() {
            length.unwrap_or(-1.0)
        } else {
            0.0
        },
    );
}

fn phases(hops: &Hops<'_>, text: &mut MetricText) {
    // Without an address, no other phase begins.
    let first = hops.iter().next();
    let failed = first.and_then(|(first, _)| first.failure.as_ref());
    let is_unnamed = failed.is_some_and(|failure| failure.phase == PhaseName::Name);
    let phases = PHASES
        .iter()
        .filter(|(name, _)| !is_unnamed || *name == "resolve");
    text.gauges(
        "probe_http_duration_seconds",
        "Duration of http request by phase, summed over all redirects",
        "phase",
        phases.map(|(name, ours)| (*name, hops.spent(ours).as_secs_f64())),
    );
}

fn rest(hops: usize, last: &Exchange, length: usize, text: &mut MetricText) {
    let http = last.http.as_ref();
    let modified = http.and_then(|http| {
        let value = http.header("last-modified")?;
        let now = last
            .started?
            .duration_since(std::time::UNIX_EPOCH)
            .ok()?
            .as_secs();
        roundtrip_wire::http_date::parse(value, now)
    });
    if let Some(modified) = modified {
        text.gauge(
            "probe_http_last_modified_timestamp_seconds",
            "Returns the Last-Modified HTTP response header in unixtime",
            modified as f64,
        );
    }
    // blackbox_exporter also counts a redirect that it was configured not to follow, and does not
    // read its body.
    let unfollowed = usize::from(http.is_some_and(|http| http.redirect.is_some()));
    let redirects = (hops.saturating_sub(1) + unfollowed) as f64;
    text.gauge("probe_http_redirects", "The number of redirects", redirects);
    text.gauge(
        "probe_http_ssl",
        "Indicates if SSL was used for the final redirect",
        f64::from(u8::from(http.is_some() && last.tls.is_some())),
    );
    let status = http.map_or(0.0, |http| http.status.into());
    text.gauge(
        "probe_http_status_code",
        "Response HTTP status code",
        status,
    );
    text.gauge(
        "probe_http_uncompressed_body_length",
        "Length of uncompressed response body",
        http.filter(|_| unfollowed == 0)
            .map_or(0.0, |_| length as f64),
    );
    text.gauge(
        "probe_http_version",
        "Returns the version of HTTP of the probe response",
        http.map_or(0.0, |http| version(&http.version).1),
    );
}

/// The metrics that blackbox_exporter does not have. The catalogue limits the number of findings;
/// usually there are none.
pub(crate) fn explained(hops: &Hops<'_>, text: &mut MetricText) {
    text.gauge(
        "probe_http_round_trips",
        "How often the client waited for an answer that had to cross the whole path",
        hops.round_trips().into(),
    );
    waits(hops, text);
    let rtt = hops.iter().filter_map(|(hop, _)| hop.rtt).min();
    if let Some(rtt) = rtt {
        text.gauge(
            "probe_path_rtt_seconds",
            "The smallest round-trip time of the path that the kernel or QUIC measured",
            rtt.as_secs_f64(),
        );
    }
    findings(hops, text);
    let unexplained: f64 = hops
        .iter()
        .filter_map(|(hop, _)| hop.unexplained_worth_reporting())
        .sum();
    text.gauge(
        "probe_unexplained_seconds",
        "The time that neither a finding nor the arithmetic of the protocols accounts for",
        unexplained / 1e3,
    );
    let last = hops.iter().last();
    let tls = last.and_then(|(last, _)| last.tls.as_ref());
    if let Some(tls) = tls {
        text.gauge(
            "probe_tls_resumed",
            "Whether the TLS session was resumed",
            f64::from(u8::from(tls.resumed)),
        );
        let early = tls.early_data == roundtrip_model::EarlyData::Accepted;
        text.gauge(
            "probe_tls_early_data_accepted",
            "Whether the server accepted the request as early data",
            f64::from(u8::from(early)),
        );
    }
}

fn waits(hops: &Hops<'_>, text: &mut MetricText) {
    let by = |party: Party| {
        let shares = hops.phases().map(|phase| party.share(&phase.waited));
        let ms: f64 = shares.sum();
        (party.name(), ms / 1e3)
    };
    text.gauges(
        "probe_wait_seconds",
        "The time that the client waited, by the party that it waited for",
        "by",
        Party::BY_WEIGHT.map(by),
    );
}

fn findings(hops: &Hops<'_>, text: &mut MetricText) {
    let mut found: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for finding in hops.iter().flat_map(|(hop, _)| &hop.findings) {
        let cost = found.entry(finding.id).or_default();
        cost.0 += finding.ms / 1e3;
        cost.1 += f64::from(finding.round_trips);
    }
    if found.is_empty() {
        return;
    }
    let present = found.keys().map(|id| (*id, 1.0));
    text.gauges(
        "probe_finding",
        "A cause that was found (roundtrip causes ID explains it)",
        "id",
        present,
    );
    let seconds = found.iter().map(|(id, cost)| (*id, cost.0));
    text.gauges(
        "probe_finding_seconds",
        "The time that a cause cost",
        "id",
        seconds,
    );
    let trips = found.iter().map(|(id, cost)| (*id, cost.1));
    text.gauges(
        "probe_finding_round_trips",
        "The round trips that a cause cost",
        "id",
        trips,
    );
}

/// The second request of a module with `warm: true`.
pub(crate) fn warm(hops: &[Exchange], text: &mut MetricText) {
    let ok = hops.last().is_some_and(Exchange::ok);
    let reused = hops.last().is_some_and(|last| last.reused);
    text.gauge(
        "probe_warm_success",
        "Whether the second request was answered on the connection of the first",
        f64::from(u8::from(ok && reused)),
    );
    let took: Duration = hops.iter().map(Exchange::total).sum();
    text.gauge(
        "probe_warm_duration_seconds",
        "The time of the second request",
        took.as_secs_f64(),
    );
    let trips: u32 = hops.iter().map(Exchange::round_trips).sum();
    text.gauge(
        "probe_warm_round_trips",
        "The round trips of the second request",
        trips.into(),
    );
}
