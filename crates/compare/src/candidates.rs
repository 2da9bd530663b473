//! The ways that make sense for a URL, from the first answer. Pure functions.

use roundtrip_model::{Exchange, Http, Memory, Scheme, Security, Strategy};
use roundtrip_probe::{ConnectionUse, Family};

use crate::config::CompareConfig;
use crate::way::{Remedy, Way};

/// What an ordinary client does today, as a strategy: the server's choices fill in what the client
/// leaves open.
pub(crate) fn baseline(first: &Exchange, family: Family) -> Way {
    let used = Strategy {
        memory: Memory::Cold,
        reuse: false,
        fast_open: false,
        ..first.used
    };
    Way::new(Remedy::Baseline, used, family)
}

/// Every other way, in the order in which they are tried: the result of one may make the next
/// unnecessary.
pub(crate) fn ways(config: &CompareConfig, first: &Exchange, baseline: &Way) -> Vec<Way> {
    let family = baseline.family;
    let mut ways = if config.strategies.is_empty() {
        all(config, first, baseline)
    } else {
        let named = config.strategies.iter();
        named
            .map(|s| Way::new(named_remedy(*s), *s, family))
            .collect()
    };
    ways.extend(config.against.iter().map(|command| Way {
        command: Some(command.clone()),
        ..Way::new(Remedy::Client, baseline.strategy, family)
    }));
    ways
}

fn all(config: &CompareConfig, first: &Exchange, baseline: &Way) -> Vec<Way> {
    let tried = over_tcp(config, baseline.strategy)
        .into_iter()
        .chain(over_quic(config, baseline.strategy))
        .filter(|(sensible, ..)| *sensible);
    let mut ways: Vec<Way> = tried
        .map(|(_, remedy, strategy)| Way::new(remedy, strategy, baseline.family))
        .collect();
    ways.extend(other_family(config, first, baseline));
    ways.extend(sequences(config, baseline));
    ways
}

/// Whether a way makes sense here, the remedy, and the strategy.
type Candidate = (bool, Remedy, Strategy);

fn over_tcp(config: &CompareConfig, base: Strategy) -> Vec<Candidate> {
    let secure = config.target.scheme == Scheme::Https;
    let modern = secure && base.security != Security::Tls12;
    let early = modern && config.is_safe();
    let classical = modern && base.post_quantum;
    // Remedies for TCP are tried over TCP, even if the server prefers HTTP/3.
    let tcp = match base.http {
        Http::H3 => Strategy {
            http: Http::H2,
            security: Security::Tls13,
            ..base
        },
        _ => base,
    };
    let security = |security| Strategy { security, ..tcp };
    let http = |http| Strategy { http, ..tcp };
    let fast = Strategy {
        fast_open: true,
        ..tcp
    };
    let small = Strategy {
        post_quantum: false,
        ..fast
    };
    vec![
        (secure && !modern, Remedy::Tls13, security(Security::Tls13)),
        (modern, Remedy::Tls12, security(Security::Tls12)),
        (tcp.http != Http::H1, Remedy::Http1, http(Http::H1)),
        (tcp.http != Http::H2, Remedy::Http2, http(Http::H2)),
        (secure, Remedy::Resumption, with(base, Memory::Resume)),
        (early, Remedy::EarlyData, with(base, Memory::EarlyData)),
        (true, Remedy::FastOpen, fast),
        (classical, Remedy::FastOpenClassical, small),
        (early, Remedy::FastOpenEarly, with(small, Memory::EarlyData)),
        (classical, Remedy::Classical, classical_only(base)),
    ]
}

fn over_quic(config: &CompareConfig, base: Strategy) -> [Candidate; 2] {
    let other = config.target.scheme == Scheme::Https && base.http != Http::H3;
    let h3 = Strategy {
        http: Http::H3,
        security: Security::Auto,
        ..base
    };
    let early = with(h3, Memory::EarlyData);
    [
        (other, Remedy::Http3, h3),
        (other && config.is_safe(), Remedy::Http3Early, early),
    ]
}

fn with(strategy: Strategy, memory: Memory) -> Strategy {
    Strategy { memory, ..strategy }
}

/// The strategy without a post-quantum key share.
fn classical_only(strategy: Strategy) -> Strategy {
    let post_quantum = false;
    Strategy {
        post_quantum,
        ..strategy
    }
}

/// Sequences to compare: for several requests, one connection for all; for a single request, a
/// connection that is already open.
fn sequences(config: &CompareConfig, baseline: &Way) -> Vec<Way> {
    if config.requests == 1 {
        let reuse = true;
        let strategy = Strategy {
            reuse,
            ..baseline.strategy
        };
        return vec![Way::new(Remedy::KeepConnection, strategy, baseline.family)];
    }
    let way = |remedy, manner| Way {
        manner,
        ..Way::new(remedy, baseline.strategy, baseline.family)
    };
    let mut ways = vec![way(Remedy::KeepConnection, ConnectionUse::Kept)];
    if matches!(baseline.strategy.http, Http::H2 | Http::H3) {
        ways.push(way(Remedy::AtOnce, ConnectionUse::AtOnce));
    }
    ways
}

/// The address family that did not win, if the name has one and the user did not choose.
fn other_family(config: &CompareConfig, first: &Exchange, baseline: &Way) -> Option<Way> {
    if config.options.family != Family::Any {
        return None;
    }
    let peer = first.tcp.as_ref().and_then(|t| t.peer);
    let peer = peer.or_else(|| first.quic.as_ref().and_then(|q| q.peer))?;
    let addresses = &first.name.as_ref()?.addresses;
    let is_other = |address: &&std::net::IpAddr| address.is_ipv4() != peer.is_ipv4();
    addresses.iter().find(is_other)?;
    let (remedy, family) = if peer.is_ipv4() {
        (Remedy::IPv6, Family::V6)
    } else {
        (Remedy::IPv4, Family::V4)
    };
    Some(Way::new(remedy, baseline.strategy, family))
}

/// The remedy that a strategy named by the user amounts to, for the advice.
fn named_remedy(s: Strategy) -> Remedy {
    match (s.http, s.fast_open, s.memory) {
        _ if s.reuse => Remedy::KeepConnection,
        (Http::H3, _, Memory::EarlyData) => Remedy::Http3Early,
        (Http::H3, ..) => Remedy::Http3,
        (_, true, Memory::EarlyData) => Remedy::FastOpenEarly,
        (_, true, _) if !s.post_quantum => Remedy::FastOpenClassical,
        (_, true, _) => Remedy::FastOpen,
        (_, _, Memory::EarlyData) => Remedy::EarlyData,
        (_, _, Memory::Resume) => Remedy::Resumption,
        _ => Remedy::Asked,
    }
}

/// The way that must work first. If it has no effect, this one has none either.
pub(crate) fn needs(remedy: Remedy) -> Option<Remedy> {
    match remedy {
        Remedy::EarlyData => Some(Remedy::Resumption),
        Remedy::FastOpenClassical | Remedy::FastOpenEarly => Some(Remedy::FastOpen),
        Remedy::Http3Early => Some(Remedy::Http3),
        _ => None,
    }
}
