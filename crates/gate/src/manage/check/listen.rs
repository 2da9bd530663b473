//! `[listen]`: addresses that belong to this machine and do not conflict.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use super::CheckReport;
use crate::config::{Config, Listen, Network};
use crate::judge::request::is_identity;

/// The largest head. The parsers have room for tens of thousands of fields at most.
const MAX_HEAD: u64 = 512 * 1024;
/// The longest time that a thread may stay awake although nothing happens.
const MAX_BUSY_POLL: Duration = Duration::from_millis(1);

pub(super) fn check(config: &Config, report: &mut CheckReport) {
    let listen = &config.listen;
    if !config.forwards() && !config.authz.is_on() {
        let what =
            "there is no address for clients; set 'http' or 'https', as in [\"127.0.0.1:8080\"]";
        report.error("listen", what);
    }
    addresses(config, report);
    one_family(config, report);
    for (place, networks) in [
        ("listen.proxy_protocol_from", &listen.proxy_protocol_from),
        ("listen.trusted", &listen.trusted),
    ] {
        if networks.iter().any(is_everybody) {
            report.warn(
                place,
                "this includes every client: each one may claim any identity",
            );
        }
        spelling(place, networks, report);
    }
    untrusted(config, report);
    let are_usual = listen.trusted_fields == Listen::default().trusted_fields;
    if !are_usual && listen.trusted.is_empty() && !config.authz.is_on() {
        let what = "without 'listen.trusted' it has no effect";
        report.warn("listen.trusted_fields", what);
    }
    for (n, name) in listen.trusted_fields.iter().enumerate() {
        if !is_identity(name) && !name.eq_ignore_ascii_case("early-data") {
            let what = format!(
                "'{name}' is not among the fields that only a proxy may set, so this has no effect"
            );
            report.warn(format!("listen.trusted_fields[{n}]"), what);
        }
    }
    if config.limits.head.0 > MAX_HEAD {
        let what = "at most 512KiB: the parsers do not take more fields";
        report.error("limits.head", what);
    }
    if listen.busy_poll.0 > MAX_BUSY_POLL {
        let what =
            "at most 1ms: a longer time takes processors from other programs and gains nothing";
        report.error("listen.busy_poll", what);
    }
    if listen.backlog == 0 {
        report.error(
            "listen.backlog",
            "with 0 almost no client can connect; leave it out",
        );
    }
}

/// All addresses at which gate listens, and the settings that say so.
fn all(config: &Config) -> Vec<(String, SocketAddr)> {
    let listen = &config.listen;
    let named = |place: &'static str, list: &[SocketAddr]| -> Vec<(String, SocketAddr)> {
        let numbered = list.iter().enumerate();
        numbered
            .map(|(n, a)| (format!("{place}[{n}]"), *a))
            .collect()
    };
    let mut all = named("listen.http", &listen.http);
    all.extend(named("listen.https", &listen.https));
    for (key, list) in config.authz.addresses() {
        all.extend(named(key, list));
    }
    all.extend(config.admin.listen.map(|a| ("admin.listen".to_owned(), a)));
    all
}

/// The setting that makes gate itself listen at an address of this machine.
pub(super) fn own(address: SocketAddr, config: &Config) -> Option<String> {
    let is_here = || UdpSocket::bind(SocketAddr::new(address.ip(), 0)).is_ok();
    let all = all(config).into_iter();
    let mut same = all.filter(|(_, listening)| collide(*listening, address));
    same.next().filter(|_| is_here()).map(|(place, _)| place)
}

fn addresses(config: &Config, report: &mut CheckReport) {
    let all = all(config);
    for (n, (place, address)) in all.iter().enumerate() {
        let before = all.get(..n).unwrap_or_default();
        if let Some((other, _)) = before.iter().find(|(_, a)| collide(*a, *address)) {
            let what = format!("{address} is already used by '{other}'; choose another port");
            report.error(place, what);
        }
        if let Err(error) = UdpSocket::bind(SocketAddr::new(address.ip(), 0)) {
            let what = format!("this machine cannot listen at {}: {error}", address.ip());
            report.error(place, what);
        }
    }
}

/// The wildcard address shares its ports with every other address of its family.
fn collide(a: SocketAddr, b: SocketAddr) -> bool {
    let is_wide = a.ip().is_unspecified() || b.ip().is_unspecified();
    let meet = a.ip() == b.ip() || (is_wide && a.is_ipv4() == b.is_ipv4());
    meet && a.port() == b.port() && a.port() != 0
}

/// Other programs serve IPv4 at the IPv6 wildcard as well.
fn one_family(config: &Config, report: &mut CheckReport) {
    let all = all(config);
    for (place, address) in &all {
        let wildcard = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), address.port());
        let is_alone = all.iter().all(|(_, other)| *other != wildcard);
        if address.ip() == Ipv6Addr::UNSPECIFIED && is_alone {
            let what = format!("this is for IPv6 only; add \"{wildcard}\" for IPv4");
            report.warn(place, what);
        }
    }
}

/// Whether other machines can reach an address.
pub(super) fn is_far(address: &SocketAddr) -> bool {
    !address.ip().to_canonical().is_loopback()
}

/// Warns if there is no certificate: gate then makes one, which is only for trying it out on this
/// machine.
fn untrusted(config: &Config, report: &mut CheckReport) {
    let numbered = config.listen.https.iter().enumerate();
    let mut far = numbered.filter(|(_, address)| is_far(address));
    if config.tls.certificate.is_empty()
        && config.acme.is_none()
        && let Some((n, _)) = far.next()
    {
        let what = "there is no [[tls.certificate]] and no [acme], so clients get a self-signed \
                    certificate, which none of them trusts";
        report.warn(format!("listen.https[{n}]"), what);
    }
}

/// `10.0.0.7/8` may be a mistake for `10.0.0.7`.
pub(super) fn spelling(place: &str, networks: &[Network], report: &mut CheckReport) {
    for (n, network) in networks.iter().enumerate() {
        if let Some(whole) = network.misspelled() {
            let what = format!(
                "this means all of {whole}; write it like that, or without '/' for one address"
            );
            report.warn(format!("{place}[{n}]"), what);
        }
    }
}

pub(super) fn is_everybody(network: &Network) -> bool {
    ["203.0.113.1", "2001:db8::1"]
        .iter()
        .filter_map(|address| address.parse().ok())
        .any(|address| network.contains(address))
        && ["198.51.100.1", "fd00::1"]
            .iter()
            .filter_map(|address| address.parse().ok())
            .any(|address| network.contains(address))
}
