//! Names: what the way from a host to its addresses cost.

use roundtrip_model::{Answer, NameFacts, PhaseName};

use crate::{Case, Cause, Cost, Family, Part, Setting};

/// No resolver repeats a question sooner: resolv.conf(5) counts its time-out in seconds.
const SHORTEST_TIMEOUT: f64 = 900.0;
/// A resolver nearby that has the answer needs less.
const SLOW: f64 = 10.0;

pub(super) const FAMILY: Family = Family {
    title: "Names",
    causes: &[
        Cause {
            id: "dns-query-unanswered",
            name: "A question to a name server got no answer and was asked again",
            shows: "the resolver had to repeat a question, and the lookup took as long as a time-out",
            signature: unanswered,
            remedy: "remove the name server that is silent, or mend what drops its packets; until then let the resolver give up sooner",
            settings: &[Setting::new(
                "Linux (/etc/resolv.conf)",
                "options timeout:1 attempts:2 rotate",
            )],
            source: "resolv.conf(5); RFC 1035 §7.2",
        },
        Cause {
            id: "slow-name-lookup",
            name: "The name server took long to answer",
            shows: "the lookup was answered by a name server, at the first try, after 10 ms or more",
            signature: slow,
            remedy: "keep answers near: a caching resolver on this host or network, a longer TTL at the name's owner, shorter chains of aliases",
            settings: &[
                Setting::new("systemd-resolved", "Cache=yes"),
                Setting::new("unbound", "prefetch: yes"),
                Setting::new("nginx (upstream names)", "resolver 127.0.0.53 valid=300s;"),
            ],
            source: "RFC 1034 §5.3.3",
        },
    ],
};

fn asked<'a>(case: &Case<'a>) -> Option<(&'a NameFacts, f64)> {
    let name = case.exchange.name.as_ref()?;
    Some((name, case.waited(PhaseName::Name, Part::Resolver)))
}

fn unanswered(case: &Case<'_>) -> Option<Cost> {
    let (name, took) = asked(case)?;
    (name.resent > 0 && took >= SHORTEST_TIMEOUT).then(|| {
        Cost::new(format!(
            "{} of the questions about {} had to be asked again; the answer came after {took:.0} ms",
            name.resent, name.host
        ))
        .waited(PhaseName::Name, Part::Resolver, took)
    })
}

fn slow(case: &Case<'_>) -> Option<Cost> {
    let (name, took) = asked(case)?;
    let whom = match &name.answer {
        Answer::Server(server) => server.to_string(),
        Answer::Doh(server) => format!("{server}, over an HTTPS connection opened for it"),
        Answer::Literal | Answer::Given | Answer::Hosts => return None,
    };
    let aliases = match name.aliases.len() {
        0 => String::new(),
        n => format!(", by way of {n} aliases"),
    };
    (took >= SLOW).then(|| {
        Cost::new(format!("{whom} answered after {took:.1} ms{aliases}")).waited(
            PhaseName::Name,
            Part::Resolver,
            took,
        )
    })
}
