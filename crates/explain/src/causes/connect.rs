//! Addresses and the TCP handshake: addresses that do not answer, SYNs that get lost.

use roundtrip_model::{Attempt, AttemptOutcome, PhaseName};

use crate::case::ms;
use crate::{Case, Cause, Cost, Family, Part, Setting};

pub(super) const FAMILY: Family = Family {
    title: "Addresses and TCP",
    causes: &[
        Cause {
            id: "dead-address",
            name: "An address that does not answer was tried first",
            shows: "a TCP attempt failed or was given up, and another address won that was tried after it (broken IPv6, as a rule)",
            signature: dead_address,
            remedy: "mend the address or take it out of the DNS; a client without Happy Eyeballs waits for minutes here",
            settings: &[
                Setting::new("DNS", "withdraw the AAAA (or A) record that leads nowhere"),
                Setting::new("Linux (/etc/gai.conf)", "precedence ::ffff:0:0/96 100"),
            ],
            source: "RFC 8305 §5",
        },
        Cause {
            id: "syn-lost",
            name: "The SYN, or its answer, was lost",
            shows: "the kernel sent the SYN again, and the connection came about one retransmission time-out late",
            signature: syn_lost,
            remedy: "look for loss on the path (mtr), a full accept queue at the server (nstat TcpExtListenOverflows) or a firewall that drops",
            settings: &[
                Setting::new("Linux (server)", "net.core.somaxconn=4096"),
                Setting::new("nginx", "listen 443 ssl backlog=4096;"),
                Setting::new("HAProxy", "bind :443 backlog 4096"),
                Setting::new("Apache", "ListenBacklog 4096"),
            ],
            source: "RFC 6298 §2 and §5; tcp(7)",
        },
    ],
};

fn dead_address(case: &Case<'_>) -> Option<Cost> {
    case.tcp()?;
    let (attempts, won) = case.tcp_attempts();
    let won = won?;
    let before: Vec<&&Attempt> = attempts
        .iter()
        .filter(|a| a.outcome != AttemptOutcome::Won && a.began < won.began)
        .collect();
    let first = before.iter().map(|a| a.began).min()?;
    let told: Vec<String> = before.iter().map(|a| fate(a)).collect();
    Some(
        Cost::new(format!(
            "{}; {}, tried {:.0} ms later, answered",
            told.join(", "),
            won.peer,
            ms(won.began.since(first))
        ))
        .waited(PhaseName::Tcp, Part::Loss, ms(won.began.since(first))),
    )
}

fn fate(attempt: &Attempt) -> String {
    match &attempt.outcome {
        AttemptOutcome::Failed(why) => format!("{} failed ({why})", attempt.peer),
        AttemptOutcome::Abandoned | AttemptOutcome::Won => {
            format!("{} did not answer", attempt.peer)
        }
    }
}

fn syn_lost(case: &Case<'_>) -> Option<Cost> {
    let tcp = case.tcp()?;
    // A SYN with data that is lost has a cause of its own.
    if tcp.syn_retransmits == 0 || tcp.fast_open.cookie {
        return None;
    }
    Some(
        Cost::new(format!(
            "the SYN was sent {} times",
            tcp.syn_retransmits + 1
        ))
        .waited(PhaseName::Tcp, Part::Loss, syn_wait(case)?),
    )
}

/// What the connect lost on the address that won in the end.
pub(super) fn syn_wait(case: &Case<'_>) -> Option<f64> {
    let (_, won) = case.tcp_attempts();
    let won = won?.began;
    let first = case.exchange.attempts.iter().map(|a| a.began).min()?;
    Some(case.waited(PhaseName::Tcp, Part::Loss) - ms(won.since(first)))
}
