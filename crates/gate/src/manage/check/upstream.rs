//! Checks `[upstream.NAME]`: whether the protocol is supported, and limits leave room for a
//! request.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use url::Url;

use super::CheckReport;
use super::listen;
use crate::config::{Config, Upstream, UpstreamProtocol};

pub(super) fn check(config: &Config, report: &mut CheckReport) {
    for (name, upstream) in &config.upstream {
        let place = format!("upstream.{name}");
        servers(&place, upstream, config, report);
        numbers(&place, upstream, report);
        if !config.route.iter().any(|route| route.upstream == *name) {
            report.warn(&place, "no route uses it");
        }
        if let Some(health) = &upstream.health {
            if !health.path.starts_with('/') {
                report.error(format!("{place}.health.path"), "it has to begin with '/'");
            }
            if health.every.0.is_zero() {
                report.error(format!("{place}.health.every"), "it must be longer than 0");
            }
        }
    }
}

fn servers(place: &str, upstream: &Upstream, config: &Config, report: &mut CheckReport) {
    if upstream.servers.is_empty() {
        let what = "it has no server; set servers = [\"http://127.0.0.1:8000\"]";
        return report.error(format!("{place}.servers"), what);
    }
    let mut schemes = Vec::new();
    for (n, text) in upstream.servers.iter().enumerate() {
        let place = format!("{place}.servers[{n}]");
        match server(text) {
            Ok(url) => {
                if let Some(own) = own_address(&url, config) {
                    let what = format!("gate itself listens there ('{own}'): requests would loop");
                    report.error(&place, what);
                }
                schemes.push(url.scheme().to_owned());
            }
            Err(why) => report.error(&place, why),
        }
        let earlier = upstream.servers.get(..n).unwrap_or_default();
        if earlier.contains(text) {
            report.warn(place, "the same server is listed twice");
        }
    }
    if schemes.windows(2).any(|pair| pair.first() != pair.last()) {
        let what = "some begin with http:// and some with https://; make two upstreams of them";
        report.error(format!("{place}.servers"), what);
    }
    let secure = schemes.iter().any(|scheme| scheme == "https");
    if let Some(ca) = &upstream.ca {
        report.authority(&format!("{place}.ca"), ca);
        if !secure {
            report.warn(
                format!("{place}.ca"),
                "only servers that begin with https:// need one",
            );
        }
    }
    if upstream.protocol == UpstreamProtocol::H2 && !secure && !schemes.is_empty() {
        let what = "HTTP/2 without TLS begins at once (prior knowledge, RFC 9113 §3.3); few servers expect it";
        report.warn(format!("{place}.protocol"), what);
    }
}

/// The setting of gate's own that listens at the address of a server.
fn own_address(url: &Url, config: &Config) -> Option<String> {
    let port = url.port_or_known_default()?;
    let addresses = match url.host()? {
        url::Host::Ipv4(ip) => vec![IpAddr::from(ip)],
        url::Host::Ipv6(ip) => vec![ip.to_canonical()],
        url::Host::Domain(name) if name.eq_ignore_ascii_case("localhost") => {
            vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]
        }
        url::Host::Domain(_) => Vec::new(),
    };
    addresses
        .into_iter()
        .find_map(|ip| listen::own(SocketAddr::new(ip, port), config))
}

/// A server's URL. A password in it is not repeated.
pub(super) fn server(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| {
        format!("it is not a URL ({error}); write it like http://127.0.0.1:8000")
    })?;
    if !["http", "https"].contains(&url.scheme()) {
        return Err("it has to begin with http:// or https://".into());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(
            "a user and a password are not allowed in it: credentials come from sessions".into(),
        );
    }
    if url.path() != "/" || url.query().is_some() || url.fragment().is_some() {
        return Err("it must end with the port: paths are passed on as clients send them".into());
    }
    Ok(url)
}

fn numbers(place: &str, upstream: &Upstream, report: &mut CheckReport) {
    let times = [
        ("connect", upstream.connect),
        ("first_byte", upstream.first_byte),
        ("silence", upstream.silence),
        ("age", upstream.age),
    ];
    for (key, _) in times.iter().filter(|(_, time)| time.0.is_zero()) {
        report.error(format!("{place}.{key}"), "it must be longer than 0");
    }
    if upstream.connections == 0 {
        report.error(format!("{place}.connections"), "there must be at least one");
    }
    let parts = [
        ("idle", upstream.idle),
        ("warm", upstream.warm),
        ("uploads", upstream.uploads),
    ];
    for (key, number) in parts {
        if number > upstream.connections {
            let what = format!(
                "it is more than 'connections' ({}) allows",
                upstream.connections
            );
            report.warn(format!("{place}.{key}"), what);
        }
    }
    if upstream.warm > upstream.idle {
        let what = format!(
            "it is more than may be kept unused ('idle', {})",
            upstream.idle
        );
        report.warn(format!("{place}.warm"), what);
    }
    if upstream.eject_after == 0 {
        report.error(format!("{place}.eject_after"), "the minimum is 1");
    }
}
