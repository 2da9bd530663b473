//! Facts about the name, the path and the transport.

use std::time::Duration;

use roundtrip_model::{
    Answer, AttemptOutcome, Exchange, FastOpenFacts, HttpsRecord, NameFacts, QuicFacts, TcpFacts,
};

use super::List;
use crate::numbers::{count, span_ms};
use crate::terminal::clean;

pub(super) fn add(list: &mut List, exchange: &Exchange) {
    if let Some(name) = &exchange.name {
        lookup(list, name);
    }
    path(list, exchange);
    address(list, exchange);
    if exchange.attempts.len() > 1 {
        attempts(list, exchange);
    }
    if let Some(tcp) = &exchange.tcp {
        connection(list, tcp);
        if tcp.fast_open.asked {
            list.add("fast open", fast_open(&tcp.fast_open));
        }
    }
    if let Some(quic) = &exchange.quic {
        datagrams(list, quic);
    }
}

fn lookup(list: &mut List, name: &NameFacts) {
    let from = match &name.answer {
        Answer::Literal => return,
        Answer::Given => "as given".to_owned(),
        Answer::Hosts => "from this machine's hosts file".to_owned(),
        Answer::Server(server) => format!("from {server}"),
        Answer::Doh(url) => format!("from {}", clean(url)),
    };
    let mut addresses: Vec<String> = name
        .addresses
        .iter()
        .take(6)
        .map(ToString::to_string)
        .collect();
    if name.addresses.len() > 6 {
        addresses.push(format!("and {} more", name.addresses.len() - 6));
    }
    let names: Vec<String> = std::iter::once(&name.host)
        .chain(name.aliases.iter().take(8))
        .map(|n| clean(n))
        .collect();
    list.join(
        "name",
        ", ",
        [
            format!("{} {from}", names.join(" → ")),
            name.ttl
                .map(|ttl| format!("TTL {ttl} s"))
                .unwrap_or_default(),
            if name.resent > 0 {
                format!("asked again {}", count(name.resent.into(), "time", "times"))
            } else {
                String::new()
            },
            if name.truncated {
                "truncated, then over TCP".into()
            } else {
                String::new()
            },
        ],
    );
    list.join("addresses", ", ", addresses);
    if let Some(record) = &name.https_record {
        list.add("HTTPS record", https_record(record));
    }
}

fn https_record(record: &HttpsRecord) -> String {
    let mut parts = vec![format!("priority {}", record.priority)];
    if !record.target.is_empty() {
        parts.push(format!("target {}", clean(&record.target)));
    }
    if !record.alpn.is_empty() {
        let alpn: Vec<String> = record.alpn.iter().map(|a| clean(a)).collect();
        parts.push(format!("ALPN {}", alpn.join(" ")));
    }
    if let Some(port) = record.port {
        parts.push(format!("port {port}"));
    }
    if !record.hints.is_empty() {
        parts.push(count(
            record.hints.len() as u64,
            "address hint",
            "address hints",
        ));
    }
    if record.ech {
        parts.push("ECH".into());
    }
    parts.join(", ")
}

fn path(list: &mut List, exchange: &Exchange) {
    let Some(rtt) = exchange.rtt else { return };
    let (handshake, latest) = exchange
        .tcp
        .as_ref()
        .map_or((None, None), |tcp| (tcp.handshake_rtt, tcp.rtt));
    let shown = |label: &str, value: Option<Duration>| {
        value
            .filter(|v| *v != rtt)
            .map(|v| format!("{label} {} ms", span_ms(v)))
            .unwrap_or_default()
    };
    list.join(
        "path",
        ", ",
        [
            format!("round trip {} ms, the smallest seen", span_ms(rtt)),
            shown("handshake", handshake),
            shown("smoothed", latest),
        ],
    );
}

fn address(list: &mut List, exchange: &Exchange) {
    let (local, peer) = ends(exchange);
    let Some(peer) = peer else { return };
    let from = local.map(|l| format!(" from {l}")).unwrap_or_default();
    let reused = if exchange.reused {
        ", on a connection that was open"
    } else {
        ""
    };
    list.add("peer", format!("{peer}{from}{reused}"));
}

fn ends(exchange: &Exchange) -> (Option<std::net::SocketAddr>, Option<std::net::SocketAddr>) {
    match (&exchange.tcp, &exchange.quic) {
        (Some(tcp), _) => (tcp.local, tcp.peer),
        (None, Some(quic)) => (quic.local, quic.peer),
        (None, None) => (None, None),
    }
}

fn attempts(list: &mut List, exchange: &Exchange) {
    list.join(
        "attempts",
        " · ",
        exchange.attempts.iter().take(12).map(|attempt| {
            let transport = if attempt.over_quic { " over QUIC" } else { "" };
            let outcome = match &attempt.outcome {
                AttemptOutcome::Won => "won".to_owned(),
                AttemptOutcome::Abandoned => "abandoned".to_owned(),
                AttemptOutcome::Failed(why) => format!("failed ({})", clean(why)),
            };
            let took = attempt.ended.since(attempt.began);
            format!(
                "{}{transport} {outcome} after {} ms",
                attempt.peer,
                span_ms(took)
            )
        }),
    );
}

fn connection(list: &mut List, tcp: &TcpFacts) {
    let mut parts = Vec::new();
    if tcp.mss > 0 {
        parts.push(format!("MSS {}", tcp.mss));
    }
    if tcp.congestion_window > 0 {
        parts.push(format!(
            "window {}",
            count(tcp.congestion_window.into(), "segment", "segments")
        ));
    }
    if !tcp.congestion_control.is_empty() {
        parts.push(clean(&tcp.congestion_control));
    }
    if tcp.ecn {
        parts.push("ECN".into());
    }
    parts.push(match (tcp.retransmits, tcp.syn_retransmits) {
        (0, 0) => "nothing sent twice".into(),
        (all, 0) => count(all.into(), "segment sent again", "segments sent again"),
        (all, syn) => format!(
            "{} (SYN: {syn})",
            count(
                all.max(syn).into(),
                "segment sent again",
                "segments sent again"
            )
        ),
    });
    list.join("TCP", ", ", parts);
}

/// Describes a fast-open connection by what it saved, not by a flag.
fn fast_open(facts: &FastOpenFacts) -> String {
    let saved = match facts.saved_round_trips {
        0 => "saved nothing".to_owned(),
        n => format!("saved {}", crate::numbers::trips(n)),
    };
    let how = if !facts.cookie && facts.data_sent == 0 {
        "no cookie yet, the SYN asked for one".to_owned()
    } else {
        format!(
            "the SYN-ACK acknowledged {} of the {} bytes of the first flight",
            facts.data_acked, facts.data_sent
        )
    };
    let kernel = facts
        .kernel_says
        .map(|why| format!(" ({})", clean(why)))
        .unwrap_or_default();
    format!("{saved}: {how}{kernel}")
}

fn datagrams(list: &mut List, quic: &QuicFacts) {
    list.join(
        "QUIC",
        ", ",
        [
            format!(
                "{} datagrams sent, {} received",
                quic.datagrams_sent, quic.datagrams_received
            ),
            match (quic.lost_packets, quic.datagrams_received) {
                (0, 0) => "no answer".into(),
                (0, _) => "none lost".into(),
                (n, _) => format!("{n} lost"),
            },
            if quic.mtu > 0 {
                format!("MTU {}", quic.mtu)
            } else {
                String::new()
            },
            if quic.retry {
                "Retry (1 round trip more)".into()
            } else {
                String::new()
            },
            if quic.version_negotiation {
                "version negotiation (1 round trip more)".into()
            } else {
                String::new()
            },
        ],
    );
}
