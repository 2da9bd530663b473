//! Connections that should have been kept open: the cost of opening another one.

use std::time::Duration;

use roundtrip_model::{Event, FailureKind, NotKept, PhaseName, Setting};

use crate::{Case, Cause, CauseFamily, Cost, Decidable, WaitPart};

const SETUP: [PhaseName; 5] = [
    PhaseName::Name,
    PhaseName::Tcp,
    PhaseName::Proxy,
    PhaseName::Tls,
    PhaseName::Quic,
];
/// Time lost to losses has separate causes.
const PARTS: [WaitPart; 4] = [
    WaitPart::Network,
    WaitPart::Server,
    WaitPart::Client,
    WaitPart::Resolver,
];

/// The phases whose time is lost when the request reaches no one.
const SILENCE: [PhaseName; 2] = [PhaseName::Request, PhaseName::FirstByte];
/// The shortest time after which a middlebox may reasonably forget a connection.
const MIN_IDLE: Duration = Duration::from_secs(10);

pub(super) const FAMILY: CauseFamily = CauseFamily {
    title: "Kept connections",
    causes: &[
        Cause {
            id: "no-keep-alive",
            decidable: Decidable::Content,
            name: "The server ends the connection after each answer",
            shows: "the previous answer said that the connection would end, and this request had to open another",
            signature: announced,
            cost: "2 to 4 round trips per request: TCP and TLS",
            remedy: "keep connections open, on the server and on every proxy in between",
            settings: &[
                Setting::new("nginx", "keepalive_timeout 75s; keepalive_requests 1000;"),
                Setting::new(
                    "nginx (to upstreams)",
                    "proxy_http_version 1.1; proxy_set_header Connection \"\"; keepalive 32;",
                ),
                Setting::new("HAProxy", "option http-keep-alive"),
                Setting::new("Apache", "KeepAlive On"),
            ],
            source: "RFC 9112 §9.3 and §9.6",
        },
        Cause {
            id: "idle-connection-closed",
            decidable: Decidable::Packets,
            name: "The server had closed the idle connection",
            shows: "the kept connection had already been closed when it was needed",
            signature: idle,
            cost: "2 to 4 round trips: TCP and TLS",
            remedy: "let servers keep idle connections for longer than clients do, or send requests sooner",
            settings: &[
                Setting::new("nginx", "keepalive_timeout 75s;"),
                Setting::new("HAProxy", "timeout http-keep-alive 75s"),
                Setting::new("Apache", "KeepAliveTimeout 75"),
            ],
            source: "RFC 9112 §9.5",
        },
        Cause {
            id: "idle-connection-forgotten",
            decidable: Decidable::ClientEnd,
            name: "A middlebox had forgotten the idle connection",
            shows: "the request left on a connection that had been idle for 10 s or longer, and neither an acknowledgement nor anything else ever came; a host that is gone looks the same (seen only in synthetic exchanges)",
            signature: forgotten,
            cost: "the client's whole timeout",
            remedy: "send something before the first middlebox on the path forgets the connection (keep-alives, HTTP/2 PING), or close idle connections sooner: load balancers forget after 60 to 350 s",
            settings: &[
                Setting::new("Linux", "net.ipv4.tcp_keepalive_time=45, and SO_KEEPALIVE"),
                Setting::new("curl", "--keepalive-time 45"),
                Setting::new("nginx", "listen 443 ssl so_keepalive=45s::;"),
                Setting::new("HAProxy", "option clitcpka and clitcpka-idle 45s"),
            ],
            source: "RFC 5382 §5 (REQ-5); RFC 9293 §3.8.4",
        },
        Cause {
            id: "reuse-race",
            decidable: Decidable::Packets,
            name: "The server closed the kept connection while the request was on its way",
            shows: "a kept connection was closed instead of answering, and the request had to be sent again on another",
            signature: crossed,
            cost: "2 to 4 round trips, and the one that was lost",
            remedy: "let clients close idle connections sooner than the server does",
            settings: &[
                Setting::new("nginx", "keepalive_timeout 75s;"),
                Setting::new("HAProxy", "timeout http-keep-alive 75s"),
                Setting::new("Apache", "KeepAliveTimeout 75"),
                Setting::new(
                    "nginx (to upstreams)",
                    "keepalive_timeout 30s; in upstream, less than the upstream's",
                ),
            ],
            source: "RFC 9112 §9.3.1 and §9.5",
        },
    ],
};

fn setup(case: &Case<'_>, why: NotKept, evidence: &str) -> Option<Cost> {
    (case.exchange.not_kept == Some(why) && !case.exchange.reused)
        .then(|| case.add_waits(Cost::new(evidence), &SETUP, &PARTS))
}

fn announced(case: &Case<'_>) -> Option<Cost> {
    let evidence = "the previous answer ended its connection: this request had to open another";
    setup(case, NotKept::Announced, evidence)
}

fn idle(case: &Case<'_>) -> Option<Cost> {
    let evidence = "the server had already closed the kept connection when it was needed";
    setup(case, NotKept::Idle, evidence)
}

fn forgotten(case: &Case<'_>) -> Option<Cost> {
    let e = case.exchange;
    let kept = e.kept.filter(|kept| e.reused && kept.idle >= MIN_IDLE)?;
    let failure = e.failure.as_ref()?;
    let in_silence = [FailureKind::Timeout, FailureKind::ConnectTimeout].contains(&failure.kind);
    let asked = e.timeline.first(|e| *e == Event::RequestStarted)?;
    let sent = e.timeline.last(|e| matches!(e, Event::Sent { .. }))?;
    // A request that was acknowledged or answered had reached the peer.
    let heard = e.timeline.iter().any(|(at, event)| match event {
        Event::Acknowledged { .. } | Event::Received { .. } => *at >= asked,
        _ => false,
    });
    (in_silence && sent >= asked && !heard && e.tcp.is_some()).then(|| {
        let evidence = format!(
            "the connection had been idle for {:.0} s, and nothing acknowledged the request",
            kept.idle.as_secs_f64()
        );
        case.add_waits(Cost::new(evidence), &SILENCE, &WaitPart::ALL)
    })
}

fn crossed(case: &Case<'_>) -> Option<Cost> {
    let evidence = "the request on the kept connection was answered with a close, and was sent again on another";
    let cost = setup(case, NotKept::Crossed, evidence)?;
    // The time before the second attempt is the only trace of the first in this timeline.
    Some(case.add_waits(cost, &[PhaseName::Setup], &[WaitPart::Client]))
}
