//! TCP fast open that was requested and saved nothing. If it saved its round trip, there is no
//! finding.

use roundtrip_model::{Event, FastOpenFacts, PhaseName, Setting, TcpFacts};

use super::connect::syn_wait;
use crate::{Case, Cause, CauseFamily, Cost, Decidable, WaitPart};

const ENABLE: &[Setting] = &[
    Setting::new("nginx", "listen 443 ssl fastopen=256;"),
    Setting::new("HAProxy", "bind :443 tfo"),
    Setting::new("Linux (server)", "net.ipv4.tcp_fastopen=3"),
    Setting::new(
        "Linux (Apache, which does not ask for it)",
        "net.ipv4.tcp_fastopen=0x403",
    ),
];

pub(super) const FAMILY: CauseFamily = CauseFamily {
    title: "TCP fast open",
    causes: &[
        Cause {
            id: "fast-open-no-cookie",
            decidable: Decidable::Packets,
            name: "Fast open was requested, but the kernel had no cookie for this server",
            shows: "the data waited for the SYN-ACK, because no earlier connection had left a cookie",
            signature: no_cookie,
            cost: "1 round trip, as without fast open",
            remedy: "the next connection has the cookie if the server issues one; if it never does, enable fast open there, or look for a middlebox that strips the option: then a cookie arrives over another network, or a capture at the server shows SYNs without the option",
            settings: ENABLE,
            source: "RFC 7413 §4.2.1",
        },
        Cause {
            id: "fast-open-syn-dropped",
            decidable: Decidable::ClientEnd,
            name: "The SYN with data got no answer, but the plain SYN after it did",
            shows: "the kernel had a cookie and sent data in the SYN; the kernel had to send the SYN again, without data",
            signature: syn_dropped,
            cost: "1 s",
            remedy: "a middlebox drops SYNs with data: do not use fast open on this path, or let the kernel pause it after such a loss",
            settings: &[Setting::new(
                "Linux (client)",
                "net.ipv4.tcp_fastopen_blackhole_timeout_sec=3600",
            )],
            source: "RFC 7413 §7.1; ip-sysctl (tcp_fastopen_blackhole_timeout_sec)",
        },
        Cause {
            id: "fast-open-data-ignored",
            decidable: Decidable::Packets,
            name: "The server did not accept the data in the SYN",
            shows: "the kernel had a cookie and sent data in the SYN; the SYN-ACK acknowledged none of it",
            signature: data_ignored,
            cost: "1 round trip, as without fast open",
            remedy: "give all servers behind one address the same cookie key, and a longer queue for connections opened this way",
            settings: &[
                Setting::new("Linux (server)", "net.ipv4.tcp_fastopen_key=KEY[,BACKUP]"),
                Setting::new("nginx", "listen 443 ssl fastopen=1024;"),
            ],
            source: "RFC 7413 §4.2.2; ip-sysctl (tcp_fastopen_key)",
        },
        Cause {
            id: "fast-open-flight-too-large",
            decidable: Decidable::Packets,
            name: "The first flight did not fit into the SYN, so fast open saved nothing",
            shows: "the SYN-ACK acknowledged a part of the first flight; the rest had to wait for it",
            signature: flight_too_large,
            cost: "1 round trip, as without fast open",
            remedy: "make the first flight smaller: a post-quantum key share (1216 bytes) leaves no room, the classical one fits (strategy -pq)",
            settings: &[Setting::new("OpenSSL (client)", "Groups = X25519")],
            source: "RFC 7413 §4.2.2; RFC 9293 §3.7.1",
        },
        Cause {
            id: "fast-open-second-write",
            decidable: Decidable::Packets,
            name: "The first flight left in two writes, and the SYN carried only the first",
            shows: "the SYN-ACK acknowledged all of the first write, and a second write had to wait for it (seen only in synthetic exchanges: our client writes once)",
            signature: second_write,
            cost: "1 round trip of the two that fast open and early data save together",
            remedy: "gather the ClientHello and the early data into one write",
            settings: &[
                Setting::new(
                    "Linux (client)",
                    "one writev(2) or sendmsg(2) with MSG_FASTOPEN for both",
                ),
                Setting::new(
                    "OpenSSL (client)",
                    "a memory BIO that is flushed once, after SSL_write_early_data()",
                ),
            ],
            source: "RFC 7413 §2.1; RFC 8446 §2.3",
        },
    ],
};

/// Fast open as seen by this exchange, if it was requested.
fn asked<'a>(case: &Case<'a>) -> Option<(&'a TcpFacts, &'a FastOpenFacts)> {
    let tcp = case.tcp()?;
    tcp.fast_open.asked.then_some((tcp, &tcp.fast_open))
}

/// Fast open, if data was sent in a SYN.
fn sent<'a>(case: &Case<'a>) -> Option<(&'a TcpFacts, &'a FastOpenFacts)> {
    asked(case).filter(|(_, f)| f.cookie && f.data_sent > 0)
}

fn no_cookie(case: &Case<'_>) -> Option<Cost> {
    let (_, facts) = asked(case)?;
    // A cookie serves the next connection: an earlier one that requested a cookie should have
    // brought it (RFC 7413 §4.1.2).
    let evidence = if case.exchange.primed || case.exchange.run > 0 {
        "an earlier connection had asked for a cookie, and none came: the server issues none, or a middlebox strips the option; the client cannot tell which, and this SYN carried no data either"
    } else {
        "no cookie was cached for this server: the SYN asked for one and carried no data"
    };
    (!facts.cookie)
        .then(|| case.trips(PhaseName::Tcp, 1, evidence))
        .flatten()
}

fn syn_dropped(case: &Case<'_>) -> Option<Cost> {
    let (tcp, facts) = sent(case)?;
    if tcp.syn_retransmits == 0 || facts.data_acked > 0 {
        return None;
    }
    let evidence = match tcp.syn_retransmits {
        1 => "the SYN with data got no answer; the one without data after it did (the loss of a single packet looks the same: ask again)".to_owned(),
        n => format!("the SYN with data got no answer; the last of {n} without data after it did"),
    };
    Some(Cost::new(evidence).waited(PhaseName::Tcp, WaitPart::Loss, syn_wait(case)?))
}

fn data_ignored(case: &Case<'_>) -> Option<Cost> {
    let (tcp, facts) = sent(case)?;
    if tcp.syn_retransmits > 0 || facts.data_acked > 0 {
        return None;
    }
    let evidence = format!(
        "{} bytes were ready for the SYN; the SYN-ACK acknowledged none of them",
        facts.data_sent
    );
    case.trips(PhaseName::Tcp, 1, evidence)
}

fn flight_too_large(case: &Case<'_>) -> Option<Cost> {
    let (_, facts) = sent(case)?;
    if facts.data_acked == 0 || facts.data_acked >= facts.data_sent {
        return None;
    }
    let evidence = format!(
        "the SYN-ACK acknowledged {} of the {} bytes of the first flight",
        facts.data_acked, facts.data_sent
    );
    case.trips(PhaseName::Tcp, 1, evidence)
}

fn second_write(case: &Case<'_>) -> Option<Cost> {
    let (_, facts) = sent(case)?;
    let timeline = &case.exchange.timeline;
    let acked = timeline.first(|e| matches!(e, Event::SynAcked { .. }))?;
    let writes: Vec<u64> = timeline
        .iter()
        .take_while(|(at, _)| *at < acked)
        .filter_map(|(_, e)| match e {
            Event::Sent { bytes } => Some(*bytes),
            _ => None,
        })
        .collect();
    if facts.data_acked < facts.data_sent || writes.len() < 2 {
        return None;
    }
    let later: u64 = writes.iter().skip(1).sum();
    let evidence = format!(
        "the SYN carried {} bytes; {later} more were written before its answer, and had to wait for it",
        facts.data_sent
    );
    case.trips(PhaseName::Tls, 1, evidence)
}
