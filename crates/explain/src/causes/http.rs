//! The request and its route: proxies, and slow servers.

use roundtrip_model::{Event, PhaseName, Setting};

use crate::case::ms;
use crate::{Case, Cause, CauseFamily, Cost, Decidable, WaitPart};

/// The shortest delay, in milliseconds, that can be distinguished from the server's scheduling: a
/// time slice of a busy machine.
const MIN_THINKING: f64 = 3.0;
/// Likewise, the smallest share of a round trip that can be distinguished from the path's usual
/// variation.
const JITTER: f64 = 0.1;

/// The least lateness, in milliseconds, at which an answer is reported although no party can be
/// blamed.
const MIN_LATE: f64 = 10.0;
/// The share of a wait below which a server's own report shows that it did not cause the wait.
const CONTRADICTION: f64 = 0.1;

pub(super) const FAMILY: CauseFamily = CauseFamily {
    title: "HTTP",
    causes: &[
        Cause {
            id: "proxy-connect",
            decidable: Decidable::Packets,
            name: "A tunnel through a proxy had to be opened first",
            shows: "CONNECT was sent and answered before anything reached the target",
            signature: proxy_connect,
            cost: "1 round trip to the proxy, and the time that the proxy takes to connect",
            remedy: "bypass the proxy for this host, or keep tunnels open",
            settings: &[Setting::new("environment", "NO_PROXY=host")],
            source: "RFC 9110 §9.3.6",
        },
        Cause {
            id: "cache-miss",
            decidable: Decidable::Content,
            name: "A cache on the way did not have the answer and asked the origin",
            shows: "the answer's headers report a miss (Cache-Status, X-Cache, CF-Cache-Status), and the first byte was late, by the same evidence as for server-think-time",
            signature: cache_miss,
            cost: "a round trip from the cache to the origin, and the origin's time",
            remedy: "cache more and for longer, put one common cache before the origin, serve stale content while it is revalidated",
            settings: &[
                Setting::new(
                    "nginx",
                    "proxy_cache_use_stale updating; proxy_cache_background_update on;",
                ),
                Setting::new(
                    "HAProxy",
                    "http-request cache-use NAME and http-response cache-store NAME",
                ),
                Setting::new("Apache", "CacheEnable disk / and CacheIgnoreNoLastMod On"),
                Setting::new(
                    "origin",
                    "Cache-Control: max-age=60, stale-while-revalidate=600",
                ),
            ],
            source: "RFC 9211 §2; RFC 9111 §4; RFC 5861 §3",
        },
        Cause {
            id: "server-think-time",
            decidable: Decidable::Packets,
            name: "The server took a long time to answer the request",
            shows: "the answer came later than one round trip after the request, by at least 3 ms and by more than the path may vary (with fewer samples, more variation is assumed), and there is a witness: the peer had acknowledged the request before, or Server-Timing accounts for the time. An acknowledgement is none if the answer to the ClientHello was as late: a tunnel or a load balancer may have acknowledged for a distant server",
            signature: think_time,
            cost: "the time that the server took",
            remedy: "profile the handler and everything it waits for, and let it report these times in Server-Timing",
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
        Cause {
            id: "late-answer",
            decidable: Decidable::Packets,
            name: "An answer came late, and nothing shows whether the server or the path delayed it",
            shows: "the answer came later than one round trip after the request or ClientHello, by at least 10 ms and by more than the path may vary (with fewer samples, more variation is assumed), and neither an acknowledgement nor Server-Timing shows who had the request meanwhile (acknowledgements may be delayed by 40 ms)",
            signature: late_answer,
            cost: "the time by which it was late",
            remedy: "ask again: a delay by the server recurs each time (-c 10), a delay by the path only sometimes; let the server report its time in Server-Timing",
            settings: &[
                Setting::new("roundtrip", "probe -c 10 URL"),
                Setting::new(
                    "nginx",
                    "add_header Server-Timing \"app;dur=$upstream_response_time\";",
                ),
            ],
            source: "RFC 1122 §4.2.3.2; W3C Server Timing",
        },
    ],
};

fn proxy_connect(case: &Case<'_>) -> Option<Cost> {
    let began = case
        .exchange
        .timeline
        .first(|e| *e == Event::TunnelStarted)?;
    let ready = case.exchange.timeline.last(|e| *e == Event::TunnelReady)?;
    let beyond = case.waited(PhaseName::Proxy, WaitPart::Server);
    let evidence = format!(
        "the tunnel was ready {:.1} ms after CONNECT, of which the proxy took {beyond:.1} ms",
        ready.since(began).as_secs_f64() * 1e3
    );
    let cost = case.trips(
        PhaseName::Proxy,
        case.round_trips(PhaseName::Proxy),
        evidence,
    )?;
    Some(cost.waited(PhaseName::Proxy, WaitPart::Server, beyond))
}

/// How many milliseconds later than a round trip the answer was, if the path and a busy host do not
/// explain it.
fn thought(case: &Case<'_>) -> Option<f64> {
    if !case.is_answered() {
        return None;
    }
    let least = least_thinking(case)?;
    let later = case.waited(PhaseName::FirstByte, WaitPart::Server);
    let thought = later - behind_the_proxy(case)?;
    (thought >= least).then_some(thought)
}

/// The shortest delay of an answer, in milliseconds, that is attributed to the server.
fn least_thinking(case: &Case<'_>) -> Option<f64> {
    Some(MIN_THINKING.max(JITTER * case.rtt?))
}

fn think_time(case: &Case<'_>) -> Option<Cost> {
    let (thought, witness) = witness(case, thought(case)?)?;
    let evidence = format!(
        "the answer came {:.1} ms later than a round trip after the request{witness}",
        case.waited(PhaseName::FirstByte, WaitPart::Server),
    );
    Some(Cost::new(evidence).waited(PhaseName::FirstByte, WaitPart::Server, thought))
}

/// How long the server had the request while the client waited, and the evidence for it.
fn witness(case: &Case<'_>, thought: f64) -> Option<(f64, String)> {
    match case.exchange.reported() {
        Some(said) if said >= 0.5 * thought => Some(accounted(case, thought, said)),
        // The server itself reports that it was not slow.
        Some(said) if said < CONTRADICTION * thought => None,
        _ => acknowledged(case, thought),
    }
}

/// The time that the server's own report accounts for. Only an acknowledgement shows that the rest
/// of the time was the server's, too.
fn accounted(case: &Case<'_>, thought: f64, said: f64) -> (f64, String) {
    let rest = thought - said;
    let is_whole = rest < least_lateness(case) || acknowledged(case, thought).is_some();
    (if is_whole { thought } else { said }, timing(case))
}

/// The wait after an early acknowledgement of the request.
fn acknowledged(case: &Case<'_>, thought: f64) -> Option<(f64, String)> {
    if may_be_farther(case) {
        return None;
    }
    let mut phases = case.phases.iter();
    let asked = phases.find(|p| p.name == PhaseName::FirstByte)?.start;
    if case.is_between_departures(PhaseName::FirstByte, thought) {
        let left = case.between_departures(PhaseName::FirstByte);
        let shown = format!(
            "; the answer left the server {left:.1} ms after the server had the request{}{}",
            case.doubt(thought),
            timing(case)
        );
        return Some((thought, shown));
    }
    let witness = case.acknowledged_before(asked, case.answer_began?)?;
    let doubt = case.doubt(thought);
    let thought = case.served(thought, witness);
    // Without any sample of the path, the path may be responsible for even that delay.
    if case.spread.samples().is_empty() && thought < 0.5 * case.rtt? {
        return None;
    }
    // An acknowledgement crosses a slow line sooner than an answer.
    let carried = case.exchange.carriage_of_answer(asked, case.answer_began?);
    if thought < least_thinking(case)? + carried {
        return None;
    }
    let http = case.exchange.http.as_ref();
    let by = if http.is_some_and(|http| http.asked_proxy) {
        " by the proxy, whose own wait for the server is a part of that"
    } else {
        ""
    };
    let shown = format!(
        "; the request had been acknowledged {:.1} ms before{by}{doubt}{}",
        witness.early,
        timing(case)
    );
    Some((thought, shown))
}

/// Whether the answers to the ClientHello and to the request were equally late, so that both may
/// have come from farther away than the acknowledgements before them: a container's network or a
/// load balancer acknowledges for a distant server.
pub(crate) fn may_be_farther(case: &Case<'_>) -> bool {
    let late = case.waited(PhaseName::FirstByte, WaitPart::Server);
    !case.exchange.is_tunnelled() && case.exchange.may_be_late_from_beyond(late)
}

/// The least lateness of an answer, in milliseconds beyond a round trip, that needs a specific
/// reason.
pub(crate) fn least_lateness(case: &Case<'_>) -> f64 {
    MIN_LATE.max(JITTER * case.rtt.unwrap_or(0.0))
}

/// An answer that was later than the known variation of round trips: the exchange does not show the
/// reason.
fn late_answer(case: &Case<'_>) -> Option<Cost> {
    let least = least_lateness(case).max(case.spread.most_later());
    let mut cost = Cost::default();
    let mut told = Vec::new();
    let mut tell = |phase, late: f64, known: f64, to: &str| {
        let told_before = std::mem::take(&mut cost);
        cost = told_before.waited(phase, WaitPart::Server, late - known);
        told.push(format!(
            "the answer to {to} came {late:.1} ms later than a round trip{}",
            case.doubt(late)
        ));
    };
    let greeting = super::greeting::lateness(case).map_or(0.0, |(late, _, _)| late);
    let work = super::greeting::MAX_HANDSHAKE_WORK;
    if greeting >= least.max(work).max(case.tolerance()) {
        tell(case.handshake(), greeting, 0.0, "the ClientHello");
    }
    let carried = case.exchange.carriage_of_request();
    if let Some(late) = thought(case).filter(|late| *late >= least + carried) {
        // The rest of the wait is the way behind the proxy.
        let known = witness(case, late).filter(|_| case.exchange.is_tunnelled());
        let known = known.map_or(0.0, |(known, _)| known);
        tell(PhaseName::FirstByte, late, known, "the request");
    }
    let missed = missed(case).map(|told| format!("; {told}"));
    let farther = if may_be_farther(case) {
        "; something nearer, such as a tunnel or a load balancer, may have acknowledged for a distant server"
    } else {
        ""
    };
    cost.evidence = format!(
        "{}; nothing shows who had the request meanwhile{farther}{}{}",
        told.join("; "),
        missed.unwrap_or_default(),
        timing(case)
    );
    (!told.is_empty()).then_some(cost)
}

fn cache_miss(case: &Case<'_>) -> Option<Cost> {
    let told = missed(case)?;
    let (thought, witness) = witness(case, thought(case)?)?;
    let evidence = format!(
        "the first byte came {thought:.1} ms later than a round trip after the request, and {told}{witness}"
    );
    Some(Cost::new(evidence).waited(PhaseName::FirstByte, WaitPart::Server, thought))
}

/// A cache's own report of a miss: RFC 9211 §2.2 (`fwd`), and older header fields.
fn missed(case: &Case<'_>) -> Option<String> {
    let http = case.exchange.http.as_ref()?;
    [
        ("cache-status", "fwd="),
        ("x-cache", "miss"),
        ("cf-cache-status", "miss"),
    ]
    .into_iter()
    .find_map(|(name, mark)| {
        let value = String::from_utf8_lossy(http.header(name)?).to_ascii_lowercase();
        // If there are several caches, the nearest one is listed last, and a hit in any of them
        // avoids the origin.
        let missed = value.contains(mark) && !value.contains("hit");
        let value: String = value.chars().filter(|c| !c.is_control()).take(60).collect();
        missed.then(|| format!("{name} says: {value}"))
    })
}

/// The distance between proxy and server, in milliseconds. Through a tunnel, R covers only the path
/// to the proxy; the handshake behind it shows how much farther the server is. Without a handshake
/// it is unknown.
fn behind_the_proxy(case: &Case<'_>) -> Option<f64> {
    if !case.exchange.is_tunnelled() {
        return Some(0.0);
    }
    if case.exchange.reused {
        return case.exchange.beyond().map(ms);
    }
    let trips = case.round_trips(PhaseName::Tls);
    (trips > 0).then(|| case.waited(PhaseName::Tls, WaitPart::Server) / f64::from(trips))
}

/// The server's own report about the wait (Server-Timing).
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
