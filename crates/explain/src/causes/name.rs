//! Name lookups: the cost of the steps from a host name to its addresses.

use std::time::Duration;

use roundtrip_model::{Answer, NameFacts, PhaseName, Setting};

use crate::case::ms;
use crate::{Case, Cause, CauseFamily, Cost, Decidable, WaitPart};

/// The shortest time in milliseconds after which a resolver repeats a query: resolv.conf(5) counts
/// its timeout in seconds.
const MIN_RESOLVER_TIMEOUT: f64 = 900.0;
/// The shortest time of a slow lookup in milliseconds. A nearby resolver with a cached answer needs
/// less.
const SLOW_LOOKUP: f64 = 10.0;

pub(super) const FAMILY: CauseFamily = CauseFamily {
    title: "Names",
    causes: &[
        Cause {
            id: "search-list",
            decidable: Decidable::ClientEnd,
            name: "The resolver tried other names first, because of the search list",
            shows: "the resolver asked for the name with one of its suffixes without success before it asked for the name itself",
            signature: search_list,
            cost: "1 round trip to the resolver for each suffix, or the time that the failed lookup takes",
            remedy: "end the name with a dot, or lower ndots, the number of dots from which a name is first looked up as it is",
            settings: &[
                Setting::new("Linux (/etc/resolv.conf)", "options ndots:1"),
                Setting::new(
                    "Kubernetes (dnsConfig)",
                    "options: [{name: ndots, value: \"1\"}]",
                ),
            ],
            source: "resolv.conf(5) (search, ndots)",
        },
        Cause {
            id: "dns-over-tcp",
            decidable: Decidable::ClientEnd,
            name: "The answer was too long for a datagram, and the query was repeated over TCP",
            shows: "an answer over UDP was truncated, and another came over TCP",
            signature: over_tcp,
            cost: "2 round trips to the resolver",
            remedy: "make the answer shorter (fewer records, ECDSA signatures), or allow larger datagrams",
            settings: &[
                Setting::new("unbound", "edns-buffer-size: 1232 and max-udp-size: 1232"),
                Setting::new("BIND", "edns-udp-size 1232; max-udp-size 1232;"),
            ],
            source: "RFC 7766 §5; RFC 6891 §6.2.5",
        },
        Cause {
            id: "dns-one-family-unanswered",
            decidable: Decidable::ClientEnd,
            name: "The query for one address type got no answer, but the other did",
            shows: "A was answered at once, and AAAA was answered late or never; or vice versa",
            signature: one_family,
            cost: "5 s with the C library's defaults: the timeout for each query",
            remedy: "repair the firewall or NAT that drops one of two simultaneous queries, or send them one after the other",
            settings: &[Setting::new(
                "Linux (/etc/resolv.conf)",
                "options single-request-reopen timeout:1",
            )],
            source: "resolv.conf(5) (single-request, single-request-reopen)",
        },
        Cause {
            id: "https-record-late",
            decidable: Decidable::ClientEnd,
            name: "The addresses were known, but the client waited for the HTTPS record",
            shows: "the lookup took another 10 ms or more after both address queries had been answered",
            signature: record_late,
            cost: "at most 50 ms: the delay that RFC 8305 allows",
            remedy: "let the name server answer HTTPS queries at once, even if there is no such record",
            settings: &[],
            source: "RFC 8305 §3; RFC 9460 §3",
        },
        Cause {
            id: "doh-connection",
            decidable: Decidable::ClientItself,
            name: "The connection to the DNS over HTTPS server had to be opened first",
            shows: "the lookup began with TCP and TLS to the resolver",
            signature: doh_connection,
            cost: "2 round trips to the resolver, and the lookup of the resolver's name",
            remedy: "keep the connection to the resolver open between lookups: a local stub that forwards over DoH or DoT",
            settings: &[
                Setting::new("systemd-resolved", "DNSOverTLS=opportunistic Cache=yes"),
                Setting::new("unbound", "forward-tls-upstream: yes"),
            ],
            source: "RFC 8484 §5.2; RFC 7858 §3.4",
        },
        Cause {
            id: "alias-chain",
            decidable: Decidable::ClientItself,
            name: "The name leads to its addresses by way of several aliases",
            shows: "three aliases or more, and a lookup that took 10 ms more than the same lookup when it was repeated at once",
            signature: alias_chain,
            cost: "the time that the resolver took to follow them, one after the other",
            remedy: "let the name point to its addresses, or to the last alias; some providers flatten chains (ALIAS, ANAME)",
            settings: &[],
            source: "RFC 1034 §3.6.2",
        },
        Cause {
            id: "dns-query-unanswered",
            decidable: Decidable::ClientEnd,
            name: "A query to a name server got no answer and was repeated",
            shows: "the resolver had to repeat a query, and the lookup took as long as a timeout",
            signature: unanswered,
            cost: "1 to 10 s: the resolver's timeout for each query",
            remedy: "remove the silent name server, or repair the device that drops its packets; until then let the resolver time out sooner",
            settings: &[Setting::new(
                "Linux (/etc/resolv.conf)",
                "options timeout:1 attempts:2 rotate",
            )],
            source: "resolv.conf(5); RFC 1035 §7.2",
        },
        Cause {
            id: "slow-name-lookup",
            decidable: Decidable::ClientEnd,
            name: "The name server's answer took a long time, on its path or at the server",
            shows: "a name server answered after 10 ms or more, and no query was repeated because no answer to it came",
            signature: slow,
            cost: "the time that it took: a round trip to the resolver, or the resolver's own wait",
            remedy: "keep answers close: a caching resolver on this host or network, a longer TTL at the name's owner, shorter chains of aliases",
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
    Some((name, case.waited(PhaseName::Name, WaitPart::Resolver)))
}

/// A part of the lookup that was timed separately.
fn part(took: Duration, least: f64, evidence: String) -> Option<Cost> {
    let took = ms(took);
    (took > 0.0 && took >= least)
        .then(|| Cost::new(evidence).waited(PhaseName::Name, WaitPart::Resolver, took))
}

fn search_list(case: &Case<'_>) -> Option<Cost> {
    let (name, _) = asked(case)?;
    let first = name.waits.in_vain.first()?;
    let evidence = match name.waits.in_vain.len() {
        1 => format!("{first} was looked up first, without success"),
        n => format!("{n} names were looked up first, without success, such as {first}"),
    };
    part(name.waits.suffixes, 0.0, evidence)
}

fn over_tcp(case: &Case<'_>) -> Option<Cost> {
    let (name, _) = asked(case)?;
    let took = name.waits.over_tcp;
    let evidence = format!(
        "the answer for {} was truncated; the query over TCP took {:.1} ms more",
        name.host,
        ms(took)
    );
    part(took, 0.0, evidence)
}

fn one_family(case: &Case<'_>) -> Option<Cost> {
    let (name, _) = asked(case)?;
    let kind = name.waits.unanswered?;
    let half = name.waits.half;
    let evidence = format!(
        "the {kind} query for {} delayed the lookup by {:.0} ms after the other type had been answered",
        name.host,
        ms(half)
    );
    part(half, MIN_RESOLVER_TIMEOUT, evidence)
}

fn record_late(case: &Case<'_>) -> Option<Cost> {
    let (name, _) = asked(case)?;
    let waited = name.waits.https_record;
    let outcome = if name.https_record.is_some() {
        "it came in time"
    } else {
        "none came"
    };
    let evidence = format!(
        "the client waited {:.1} ms for the HTTPS record after the addresses; {outcome}",
        ms(waited)
    );
    part(waited, SLOW_LOOKUP, evidence)
}

fn doh_connection(case: &Case<'_>) -> Option<Cost> {
    let (name, _) = asked(case)?;
    let Answer::Doh(server) = &name.answer else {
        return None;
    };
    let opening = name.waits.opening;
    let evidence = format!(
        "the connection to {server} was open after {:.1} ms",
        ms(opening)
    );
    part(opening, SLOW_LOOKUP, evidence)
}

/// A lookup that followed aliases. Their existence does not show that they took the time, because
/// the resolver may be far away; a repetition of the lookup that is quicker does.
fn alias_chain(case: &Case<'_>) -> Option<Cost> {
    let (name, took) = asked(case)?;
    let again = ms(name.waits.again?);
    let followed = took - again;
    (name.has_many_aliases() && followed >= SLOW_LOOKUP && name.resent == 0).then(|| {
        let last = name.aliases.last().map_or("", String::as_str);
        let evidence = format!(
            "{} aliases from {} to {last}; the answer came after {took:.1} ms, and after {again:.1} ms when the lookup was repeated",
            name.aliases.len(),
            name.host
        );
        Cost::new(evidence).waited(PhaseName::Name, WaitPart::Resolver, followed)
    })
}

fn unanswered(case: &Case<'_>) -> Option<Cost> {
    let (name, took) = asked(case)?;
    let unheard = name.waits.unheard;
    (unheard > 0 && took >= MIN_RESOLVER_TIMEOUT).then(|| {
        Cost::new(format!(
            "{unheard} of the queries for {} had to be repeated; the answer came after {took:.0} ms",
            name.host
        ))
        .waited(PhaseName::Name, WaitPart::Resolver, took)
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
    let failed = match name.resent.saturating_sub(name.waits.unheard) {
        0 => "",
        _ => ", after a query that a name server answered with a failure",
    };
    (took >= SLOW_LOOKUP).then(|| {
        Cost::new(format!(
            "{whom} answered after {took:.1} ms{aliases}{failed}"
        ))
        .waited(PhaseName::Name, WaitPart::Resolver, took)
    })
}
