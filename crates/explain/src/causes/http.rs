//! The request and its way: proxies, and servers that think.

use roundtrip_model::{Event, PhaseName};

use crate::{Case, Cause, Cost, Family, Part, Setting};

/// Less than this, a server's answer cannot be told from its scheduler: it is a time slice of a busy machine.
const THOUGHT: f64 = 3.0;
/// Nor can it be told from the path, where the wait varies by this share of a round trip anyway.
const JITTER: f64 = 0.1;
/// A SYN-ACK that was late by more than this had a reason of its own, which says nothing about the next answer.
const MOST_UNREST: f64 = 10.0;

pub(super) const FAMILY: Family = Family {
    title: "HTTP",
    causes: &[
        Cause {
            id: "proxy-connect",
            name: "A tunnel through a proxy had to be opened first",
            shows: "CONNECT was sent and answered before anything reached the target",
            signature: proxy_connect,
            remedy: "go past the proxy for this host, or keep tunnels open",
            settings: &[Setting::new("environment", "NO_PROXY=host")],
            source: "RFC 9110 §9.3.6",
        },
        Cause {
            id: "server-think-time",
            name: "The server took long to answer the request",
            shows: "the first byte came later than one round trip after the request, by 3 ms and more than the path varies, and nothing of ours was sent again",
            signature: think_time,
            remedy: "profile the handler and what it waits for; let it say so in Server-Timing",
            settings: &[
                Setting::new(
                    "nginx",
                    "log_format t '$request_time $upstream_response_time';",
                ),
                Setting::new("HAProxy", "log-format with %Tr (%TR/%Tw/%Tc/%Tr/%Ta)"),
                Setting::new("Apache", "LogFormat \"%D %r\""),
            ],
            source: "W3C Server Timing",
        },
    ],
};

fn proxy_connect(case: &Case<'_>) -> Option<Cost> {
    let began = case
        .exchange
        .timeline
        .first(|e| *e == Event::TunnelStarted)?;
    let ready = case.exchange.timeline.last(|e| *e == Event::TunnelReady)?;
    let beyond = case.waited(PhaseName::Proxy, Part::Server);
    let evidence = format!(
        "the tunnel was ready {:.1} ms after CONNECT, of which the proxy took {beyond:.1} ms",
        ready.since(began).as_secs_f64() * 1e3
    );
    let cost = case.trips(
        PhaseName::Proxy,
        case.round_trips(PhaseName::Proxy),
        evidence,
    )?;
    Some(cost.waited(PhaseName::Proxy, Part::Server, beyond))
}

fn think_time(case: &Case<'_>) -> Option<Cost> {
    if !case.is_answered() {
        return None;
    }
    let least = THOUGHT.max(JITTER * case.rtt?).max(2.0 * unrest(case));
    let later = case.waited(PhaseName::FirstByte, Part::Server);
    let thought = later - behind_the_proxy(case)?;
    (thought >= least).then(|| {
        let evidence = format!(
            "the first byte came {later:.1} ms later than a round trip after the request{}",
            timing(case)
        );
        Cost::new(evidence).waited(PhaseName::FirstByte, Part::Server, thought)
    })
}

/// How late the SYN-ACK was, which no application has to think about: so unquiet are this path and its ends.
fn unrest(case: &Case<'_>) -> f64 {
    let connect = case.waited(PhaseName::Tcp, Part::Network);
    let late = connect - f64::from(case.round_trips(PhaseName::Tcp)) * case.rtt.unwrap_or(connect);
    late.clamp(0.0, MOST_UNREST)
}

/// Through a tunnel, R reaches to the proxy only. How much farther the server is shows in the handshake behind it;
/// without one, nothing can be said.
fn behind_the_proxy(case: &Case<'_>) -> Option<f64> {
    if !case.happened(|e| *e == Event::TunnelReady) {
        return Some(0.0);
    }
    let trips = case.round_trips(PhaseName::Tls);
    (trips > 0).then(|| case.waited(PhaseName::Tls, Part::Server) / f64::from(trips))
}

/// What the server itself said about it.
fn timing(case: &Case<'_>) -> String {
    let told: Vec<String> = case
        .exchange
        .http
        .iter()
        .flat_map(|h| &h.server_timing)
        .filter_map(|(name, took, _)| {
            let took = took.as_ref()?.as_secs_f64() * 1e3;
            let name: String = name
                .chars()
                .filter(char::is_ascii_graphic)
                .take(30)
                .collect();
            Some(format!("{name} {took:.1} ms"))
        })
        .take(5)
        .collect();
    if told.is_empty() {
        String::new()
    } else {
        format!("; its Server-Timing says: {}", told.join(", "))
    }
}
