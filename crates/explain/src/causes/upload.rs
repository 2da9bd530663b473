//! The request body: bytes that wait for windows, for permission, or for a reader.

use roundtrip_model::{Event, INITIAL_WINDOW, PhaseName, Setting};

use super::transfer::flights;
use crate::case::{ms, times};
use crate::{Case, Cause, CauseFamily, Claim, Cost, Decidable, WaitPart};

/// The number of bytes that HTTP/2 lets a client send on a stream before the server allows more
/// (RFC 9113 §6.9.2).
const FIRST_STREAM_WINDOW: u64 = 65_535;
/// The shortest time, in milliseconds, for which a receiver counts as holding the client back. If
/// the time is shorter, the receiver was only briefly busy.
const MIN_HELD_BACK: f64 = 10.0;

pub(super) const FAMILY: CauseFamily = CauseFamily {
    title: "Sending the request",
    causes: &[
        Cause {
            id: "expect-ignored",
            decidable: Decidable::Content,
            name: "The client waited for 100 Continue, and the server did not answer it",
            shows: "the request said Expect: 100-continue, no interim answer came, and the body was sent after the client's timeout",
            signature: ignored,
            cost: "the client's timeout: 1 s with curl",
            remedy: "send no Expect header, or let the server answer it",
            settings: &[
                Setting::new("curl", "-H 'Expect:'"),
                Setting::new(
                    ".NET",
                    "client.DefaultRequestHeaders.ExpectContinue = false",
                ),
            ],
            source: "RFC 9110 §10.1.1",
        },
        Cause {
            id: "expect-continue",
            decidable: Decidable::Content,
            name: "The body waited for the server's 100 Continue",
            shows: "the request said Expect: 100-continue, and the body was sent after the interim answer",
            signature: expected,
            cost: "1 round trip",
            remedy: "send no Expect header for bodies that servers usually accept",
            settings: &[
                Setting::new("curl", "-H 'Expect:'"),
                Setting::new(
                    ".NET",
                    "client.DefaultRequestHeaders.ExpectContinue = false",
                ),
            ],
            source: "RFC 9110 §10.1.1",
        },
        Cause {
            id: "upload-window",
            decidable: Decidable::Packets,
            name: "The server's receive window held the upload back",
            shows: "the kernel reports how long the peer's window was full; it does not say whether the server did not read, the window is too small for the path, or it has yet to grow",
            signature: held_back,
            cost: "as long as the window was full",
            remedy: "give the server a receive buffer that fits the path, and let it read as fast as bytes arrive: no blocking work between reads",
            settings: &[
                Setting::new("Linux (server)", "net.ipv4.tcp_rmem=4096 131072 16777216"),
                Setting::new(
                    "nginx",
                    "proxy_request_buffering on; client_body_buffer_size 1m;",
                ),
            ],
            source: "RFC 9293 §3.8.6; tcp(7) (tcp_rmem)",
        },
        Cause {
            id: "h2-upload-window",
            decidable: Decidable::Content,
            name: "The upload had to wait for the server's HTTP/2 window",
            shows: "a body of more than 65535 bytes was sent in pieces over HTTP/2, each after the server had allowed it",
            signature: h2_window,
            cost: "1 round trip for each window",
            remedy: "let the server allow more at once",
            settings: &[
                Setting::new("nginx", "http2_body_preread_size 1m;"),
                Setting::new("HAProxy", "tune.h2.fe.initial-window-size 1048576"),
                Setting::new("Apache", "H2WindowSize 1048576"),
            ],
            source: "RFC 9113 §5.2 and §6.9.2",
        },
        Cause {
            id: "request-over-window",
            decidable: Decidable::Packets,
            name: "The request's head was more than the client's first window could carry",
            shows: "a head of more than ten segments on a new connection, and an answer that came one or more round trips late",
            signature: large_head,
            cost: "1 round trip each time the window doubles",
            remedy: "make the head smaller: fewer and shorter cookies, smaller tokens",
            settings: &[Setting::new(
                "Linux (client)",
                "ip route change default via GATEWAY initcwnd 20",
            )],
            source: "RFC 6928 §2; RFC 6265 §6.1",
        },
        Cause {
            id: "upload-slow-start",
            decidable: Decidable::Packets,
            name: "The request's body left in several flights while the client's window grew",
            shows: "a request of more than ten segments on a new connection, and an answer that came one or more round trips late",
            signature: slow_upload,
            cost: "1 round trip each time the window doubles",
            remedy: "send less, keep connections whose window has grown, or begin with a larger one",
            settings: &[Setting::new(
                "Linux (client)",
                "ip route change default via GATEWAY initcwnd 20",
            )],
            source: "RFC 5681 §3.1; RFC 6928 §2",
        },
    ],
};

/// How long the body waited for a 100 (Continue), and whether that arrived.
fn continued(case: &Case<'_>) -> Option<(f64, bool)> {
    let http = case.exchange.http.as_ref()?;
    Some((ms(http.continue_wait?), http.interim.contains(&100)))
}

fn ignored(case: &Case<'_>) -> Option<Cost> {
    let (waited, _) = continued(case).filter(|(_, came)| !came)?;
    let evidence = format!("Expect: 100-continue was sent, and nothing came for {waited:.0} ms");
    Some(Cost::new(evidence).waited(PhaseName::Request, WaitPart::Server, waited))
}

fn expected(case: &Case<'_>) -> Option<Cost> {
    let (waited, _) = continued(case).filter(|(_, came)| *came)?;
    let evidence =
        format!("100 Continue came {waited:.1} ms after the head, and the body after it");
    let network = waited.min(case.rtt.unwrap_or(waited));
    let claim = Claim {
        phase: PhaseName::Request,
        part: WaitPart::Network,
        ms: network,
        round_trips: case.round_trips(PhaseName::Request).min(1),
    };
    let cost = Cost::new(evidence).claim(claim);
    Some(cost.waited(PhaseName::Request, WaitPart::Server, waited - network))
}

fn held_back(case: &Case<'_>) -> Option<Cost> {
    let tcp = case.tcp()?;
    let limited = ms(tcp.receiver_limited);
    if limited < MIN_HELD_BACK || !case.is_answered() {
        return None;
    }
    let most = match tcp.peer_window {
        0 => String::new(),
        most => format!(" of at most {most} bytes"),
    };
    let evidence = format!("the server's window{most} was full for {limited:.0} ms");
    let mut left = limited;
    let mut cost = Cost::new(evidence);
    for (phase, part) in [
        (PhaseName::FirstByte, WaitPart::Server),
        (PhaseName::Request, WaitPart::Network),
    ] {
        let claimed = left.min(case.waited(phase, part));
        left -= claimed;
        let pause = part == WaitPart::Network;
        cost = cost.claim(Claim {
            phase,
            part,
            ms: claimed,
            round_trips: if pause { case.round_trips(phase) } else { 0 },
        });
    }
    Some(cost)
}

fn h2_window(case: &Case<'_>) -> Option<Cost> {
    let http = case.exchange.http.as_ref()?;
    let window = FIRST_STREAM_WINDOW;
    let allowed = case.phases.iter().any(|p| {
        let mut events = case.exchange.timeline.iter();
        p.name == PhaseName::Request
            && events
                .any(|(at, e)| *at > p.start && *at <= p.end && matches!(e, Event::Received { .. }))
    });
    if http.version != "2" || http.uploaded <= window || !allowed {
        return None;
    }
    // The connection's congestion window grows meanwhile, and the client would have waited for it
    // anyway.
    let grown = case.tcp().map_or(0, |_| {
        more_flights(case, http.request_bytes + http.uploaded)
    });
    let pauses = case.round_trips(PhaseName::Request);
    let n = more_trips(case).saturating_sub(grown).min(pauses);
    let evidence = format!(
        "{} bytes of body had to wait {} for windows; the first carries {window}",
        http.uploaded,
        times(pauses)
    );
    case.trips(PhaseName::Request, n, evidence)
}

/// The flights beyond the first that `bytes` of a request need on a new connection.
fn more_flights(case: &Case<'_>, bytes: u64) -> u32 {
    flights(bytes, INITIAL_WINDOW * case.exchange.segment()).saturating_sub(1)
}

/// The round trips of sending a request and waiting for its answer, except the unavoidable one.
fn more_trips(case: &Case<'_>) -> u32 {
    (case.round_trips(PhaseName::Request) + case.round_trips(PhaseName::FirstByte))
        .saturating_sub(1)
}

fn trips(case: &Case<'_>, n: u32, evidence: String) -> Option<Cost> {
    let waiting = n.min(case.round_trips(PhaseName::FirstByte).saturating_sub(1));
    let sending = (n - waiting).min(case.round_trips(PhaseName::Request));
    let r = case.rtt?;
    let claim = |phase, n: u32| Claim {
        phase,
        part: WaitPart::Network,
        ms: f64::from(n) * r,
        round_trips: n,
    };
    (n > 0).then(|| {
        Cost::new(evidence)
            .claim(claim(PhaseName::FirstByte, waiting))
            .claim(claim(PhaseName::Request, sending))
    })
}

fn large_head(case: &Case<'_>) -> Option<Cost> {
    case.tcp()?;
    let http = case.exchange.http.as_ref()?;
    let n = more_flights(case, http.request_bytes).min(more_trips(case));
    let evidence = format!(
        "a head of {} bytes; a first window carries {}",
        http.request_bytes,
        INITIAL_WINDOW * case.exchange.segment()
    );
    trips(case, n, evidence)
}

fn slow_upload(case: &Case<'_>) -> Option<Cost> {
    case.tcp()?;
    let http = case.exchange.http.as_ref()?;
    let whole = more_flights(case, http.request_bytes + http.uploaded);
    let head = more_flights(case, http.request_bytes);
    let n = whole
        .saturating_sub(head)
        .min(more_trips(case).saturating_sub(head));
    let evidence = format!(
        "{} bytes of request; a first window carries {}",
        http.request_bytes + http.uploaded,
        INITIAL_WINDOW * case.exchange.segment()
    );
    trips(case, n, evidence)
}
