//! Decides whether a server supports a way: by what an exchange did, not by what it was configured
//! to do. Pure functions.

use roundtrip_model::{EarlyData, Exchange, Http, Memory, Security, Strategy};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Support {
    /// The strategy had its effect.
    Works,
    /// The strategy seems to work, but does not. The text says what happens instead.
    Idle(String),
    /// The strategy is not supported. The text says what was observed.
    Absent(String),
    /// The strategy was not tried, for this reason.
    Unasked(String),
}

use Support::{Absent, Idle, Works};

/// Judges a way with this strategy by the hops of one request, the last of which is the answer.
pub(crate) fn of(asked: Strategy, hops: &[Exchange]) -> Support {
    let Some(last) = hops.last() else {
        return Absent("nothing was asked".into());
    };
    if let Some(failure) = &last.failure {
        return Absent(failure.message.clone());
    }
    let checks = [protocol, connection, fast_open, memory];
    let found = checks.iter().find_map(|check| check(asked, hops, last));
    found.unwrap_or(Works)
}

fn protocol(asked: Strategy, _: &[Exchange], last: &Exchange) -> Option<Support> {
    let used = last.used;
    if asked.http != Http::Auto && asked.http != used.http {
        let got = last.http.as_ref().map_or("?", |h| h.version.as_str());
        return Some(Absent(format!("the server chose HTTP/{got}")));
    }
    let wanted = [Security::Tls12, Security::Tls13].contains(&asked.security);
    if wanted && asked.security != used.security {
        let got = last.tls.as_ref().map_or("no TLS", |t| t.version.as_str());
        return Some(Absent(format!("the server chose {got}")));
    }
    None
}

fn connection(asked: Strategy, _: &[Exchange], last: &Exchange) -> Option<Support> {
    if !asked.reuse || last.reused {
        return None;
    }
    let said = last.notes.first().cloned();
    let why = said.unwrap_or_else(|| "the server closes the connection after each answer".into());
    Some(Absent(why))
}

fn fast_open(asked: Strategy, _: &[Exchange], last: &Exchange) -> Option<Support> {
    if !asked.fast_open {
        return None;
    }
    let facts = &last.tcp.as_ref()?.fast_open;
    if facts.saved_round_trips > 0 {
        return None;
    }
    if !facts.cookie {
        let why = facts.kernel_says.map_or_else(
            || {
                "no cookie came: the server does not offer it, or a middlebox on the path removes it"
                    .into()
            },
            |says| format!("no cookie came; the kernel says: {says}"),
        );
        return Some(Absent(why));
    }
    let (sent, taken) = (facts.data_sent, facts.data_acked);
    Some(Idle(if taken > 0 {
        format!(
            "the first flight has {sent} bytes, of which the SYN had room for {taken}: the rest waited for the SYN-ACK as usual"
        )
    } else {
        format!("there was a cookie, but none of the {sent} bytes in the SYN were accepted")
    }))
}

fn memory(asked: Strategy, hops: &[Exchange], last: &Exchange) -> Option<Support> {
    let tls = last.tls.as_ref().filter(|_| asked.memory != Memory::Cold)?;
    if hops.len() > 1 && asked.memory == Memory::EarlyData {
        return Some(Idle(
            "the server answers early data with 425 Too Early, so the request is sent twice".into(),
        ));
    }
    if last.used.memory == asked.memory {
        return None;
    }
    Some(match (asked.memory, tls.early_data) {
        (Memory::EarlyData, EarlyData::Refused) => Idle(
            "the server's tickets allow early data, but it refuses it: the request is sent again after the handshake".into(),
        ),
        (Memory::EarlyData, _) if tls.resumed => {
            Absent("the server's tickets do not allow early data".into())
        }
        _ if tls.tickets == 0 => Absent("the server issues no tickets".into()),
        _ => Idle("the server issues tickets but does not accept them: the handshake is a full one".into()),
    })
}

#[cfg(test)]
mod tests {
    use roundtrip_model::{FastOpenFacts, HttpFacts, TcpFacts, TlsFacts};

    use super::*;

    fn exchange(used: &str) -> Exchange {
        Exchange {
            used: used.parse().unwrap(),
            tls: Some(TlsFacts::default()),
            tcp: Some(TcpFacts::default()),
            http: Some(HttpFacts::default()),
            ..Exchange::default()
        }
    }

    fn judged(asked: &str, exchange: Exchange) -> Support {
        of(asked.parse().unwrap(), &[exchange])
    }

    #[test]
    fn the_strategy_that_was_used_decides() {
        assert_eq!(judged("h2+tls1.3", exchange("h2+tls1.3")), Works);
        assert!(matches!(
            judged("h2+tls1.3", exchange("h1+tls1.3")),
            Absent(_)
        ));
        assert!(matches!(
            judged("h2+tls1.3", exchange("h2+tls1.2")),
            Absent(_)
        ));
        assert!(matches!(
            judged("h2+tls1.3+reuse", exchange("h2+tls1.3")),
            Absent(_)
        ));
        assert!(matches!(of("h1".parse().unwrap(), &[]), Absent(_)));
    }

    #[test]
    fn a_flight_that_overflows_the_syn_looks_like_fast_open() {
        let mut seen = exchange("h1+tls1.3");
        assert!(matches!(judged("h1+tls1.3+tfo", seen.clone()), Absent(_)));
        seen.tcp.as_mut().unwrap().fast_open = FastOpenFacts {
            asked: true,
            cookie: true,
            data_sent: 1800,
            data_acked: 1420,
            ..FastOpenFacts::default()
        };
        assert!(matches!(judged("h1+tls1.3+tfo", seen), Idle(why) if why.contains("1420")));
    }

    #[test]
    fn tickets_that_are_given_and_not_taken_look_like_resumption() {
        let mut seen = exchange("h1+tls1.3");
        assert!(matches!(
            judged("h1+tls1.3+resume", seen.clone()),
            Absent(_)
        ));
        seen.tls.as_mut().unwrap().tickets = 2;
        assert!(matches!(judged("h1+tls1.3+resume", seen.clone()), Idle(_)));
        seen.tls.as_mut().unwrap().early_data = EarlyData::Refused;
        assert!(matches!(judged("h1+tls1.3+0rtt", seen), Idle(why) if why.contains("refuses")));
        let mut resumed = exchange("h1+tls1.3+resume");
        resumed.tls.as_mut().unwrap().resumed = true;
        assert!(matches!(judged("h1+tls1.3+0rtt", resumed), Absent(_)));
    }
}
