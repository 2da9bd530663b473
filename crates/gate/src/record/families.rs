//! Every metric family: its name, its meaning, and its rows. Everything that shows counters uses
//! this list, so all show the same figures.

use super::ledger::{Connected, FastOpened, RequestCounter};
use super::vocabulary::StatusClass;
use super::{
    Avoided, Bytes, Carried, Counted, Early, Gauge, Known, LabelValue, Limit, Link, LoginEvent,
    Outcome, Pool, Protocol, QuicStray, Reason, Remedy, SingleUse, Snapshot, Spans, Store, Streams,
    TlsHandshake,
};

/// Counters with one name and different labels.
pub(crate) struct Family {
    /// The name without `roundtrip_gate_` and `_total`.
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) rows: fn(&Snapshot) -> Vec<Row>,
}

pub(crate) struct Row {
    pub(crate) labels: Vec<(&'static str, &'static str)>,
    pub(crate) value: u64,
}

pub(crate) const FAMILIES: [Family; 21] = [
    Family {
        name: "requests",
        about: "Exchanges that ended, by the client's protocol, the answer's status and how they ended.",
        rows: requests,
    },
    Family {
        name: "turned_away",
        about: "Requests that gate answered itself or broke off: refused, denied, or without a backend.",
        rows: turned_away,
    },
    Family {
        name: "limits_met",
        about: "How often a limit was reached.",
        rows: |s| each::<Limit>(s, "limit"),
    },
    Family {
        name: "connections",
        about: "Client connections on which HTTP could begin.",
        rows: |s| {
            all(Protocol::ALL, "protocol", |protocol| {
                s.get(Connected(protocol))
            })
        },
    },
    Family {
        name: "tls_handshakes",
        about: "Handshakes with clients; an early one was resumed and brought a request with it.",
        rows: |s| each::<TlsHandshake>(s, "kind"),
    },
    Family {
        name: "single_use_sessions",
        about: "Single-use TLS sessions that clients asked for.",
        rows: |s| each::<SingleUse>(s, "fate"),
    },
    Family {
        name: "quic_strays",
        about: "Datagrams that belonged to no QUIC connection of their thread and began none, by outcome.",
        rows: |s| each::<QuicStray>(s, "fate"),
    },
    Family {
        name: "fast_open_connections",
        about: "Connections of clients whose first data came in the SYN.",
        rows: |s| single(s, FastOpened),
    },
    Family {
        name: "early_requests",
        about: "Requests that came as early data: passed on at once, held until the end of the handshake, or sent again after it.",
        rows: |s| each::<Early>(s, "fate"),
    },
    Family {
        name: "sessions_looked_up",
        about: "How the session of a request was found: in memory, in the store, or in memory while the store is down.",
        rows: |s| each::<Known>(s, "from"),
    },
    Family {
        name: "store_events",
        about: "Events of the session store.",
        rows: |s| each::<Store>(s, "event"),
    },
    Family {
        name: "login_events",
        about: "Events of logins by a browser, and of their tokens.",
        rows: |s| each::<LoginEvent>(s, "event"),
    },
    Family {
        name: "streams_ended",
        about: "Open answers that ended because their session ended.",
        rows: |s| each::<Streams>(s, "cause"),
    },
    Family {
        name: "upstream_connections",
        about: "Connections to backends.",
        rows: |s| each::<Link>(s, "event"),
    },
    Family {
        name: "upstream_requests",
        about: "Requests to backends, by whether their connection had been used before.",
        rows: |s| each::<Carried>(s, "connection"),
    },
    Family {
        name: "upstream_events",
        about: "Requests that waited for a connection or were sent again, and servers that were ejected.",
        rows: |s| each::<Pool>(s, "event"),
    },
    Family {
        name: "body_bytes",
        about: "Bytes of bodies, uploaded by clients and downloaded by them.",
        rows: |s| each::<Bytes>(s, "direction"),
    },
    Family {
        name: "round_trips_saved",
        about: "Round trips that were saved, by the remedy.",
        rows: |s| each::<Remedy>(s, "remedy"),
    },
    Family {
        name: "handshakes_avoided",
        about: "Handshakes that were avoided or shortened.",
        rows: |s| each::<Avoided>(s, "kind"),
    },
    Family {
        name: "spans",
        about: "Spans for OpenTelemetry, by outcome.",
        rows: |s| each::<Spans>(s, "fate"),
    },
    Family {
        name: "errors",
        about: "Exchanges that failed for the client: 5xx, or an answer that gate or the backend broke off.",
        rows: |s| {
            let value = s.errors();
            vec![Row {
                labels: Vec::new(),
                value,
            }]
        },
    },
];

/// The meaning of a gauge.
pub(crate) fn about(gauge: Gauge) -> &'static str {
    match gauge {
        Gauge::Connections => "Open connections of clients.",
        Gauge::Exchanges => "Exchanges in progress.",
        Gauge::Sessions => "Cached sessions, summed over threads.",
        Gauge::Links => "Open connections to backends.",
        Gauge::IdleLinks => "Idle connections to backends.",
        Gauge::Accepting => "Threads that accept connections.",
        Gauge::StoreDown => "Threads whose session store does not answer.",
        Gauge::Servers => "Servers, summed over threads.",
        Gauge::ServersDown => "Ejected servers, summed over threads.",
        Gauge::QuicMemory => {
            "Bytes that QUIC connections hold because they were not yet read, sent or acknowledged."
        }
    }
}

fn each<W: LabelValue + Counted>(snapshot: &Snapshot, label: &'static str) -> Vec<Row> {
    all(W::ALL, label, |word| snapshot.get(word))
}

fn all<W: LabelValue>(words: &[W], label: &'static str, value: impl Fn(W) -> u64) -> Vec<Row> {
    let row = |word: &W| Row {
        labels: vec![(label, word.as_str())],
        value: value(*word),
    };
    words.iter().map(row).collect()
}

fn single(snapshot: &Snapshot, what: impl Counted) -> Vec<Row> {
    vec![Row {
        labels: Vec::new(),
        value: snapshot.get(what),
    }]
}

/// The rows of `requests`. There are many combinations, and most never occur, so a row exists only
/// once it was counted.
fn requests(snapshot: &Snapshot) -> Vec<Row> {
    let asked = RequestCounter::all().map(|asked| Row {
        labels: vec![
            ("protocol", asked.protocol.as_str()),
            ("status", asked.class.as_str()),
            ("outcome", asked.outcome.as_str()),
        ],
        value: snapshot.get(asked),
    });
    asked.filter(|row| row.value > 0).collect()
}

fn turned_away(snapshot: &Snapshot) -> Vec<Row> {
    let row = |reason: &Reason| Row {
        labels: vec![("by", reason.kind().as_str()), ("reason", reason.as_str())],
        value: snapshot.get(*reason),
    };
    Reason::ALL.iter().map(row).collect()
}

impl RequestCounter {
    /// All combinations of label values.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        Protocol::ALL.iter().flat_map(|protocol| {
            StatusClass::ALL.iter().flat_map(move |class| {
                Outcome::ALL.iter().map(move |outcome| Self {
                    protocol: *protocol,
                    class: *class,
                    outcome: *outcome,
                })
            })
        })
    }
}
