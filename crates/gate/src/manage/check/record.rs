//! The HTTPS records (RFC 9460) that a name server may publish for gate, so that a client learns of
//! HTTP/3 before it connects.

use std::net::IpAddr;

use crate::config::Listen;

const TTL: u32 = 300;
const HTTPS: u16 = 443;

/// Writes one line for each name and port, as in a zone file.
pub(super) fn https(listen: &Listen, names: &[String]) -> Vec<String> {
    let alpn = if listen.h3 { "h3,h2" } else { "h2" };
    let ports = listen.https.iter().map(|at| listen.announced_port(at));
    let mut ports: Vec<u16> = ports.collect();
    ports.sort_unstable();
    ports.dedup();
    let hosts = names.iter().filter(|name| is_of_a_zone(name));
    let line = |name: &String, port: u16| {
        let port = match port {
            HTTPS => String::new(),
            port => format!(" port={port}"),
        };
        let name = name.trim_end_matches('.');
        format!("{name}. {TTL} IN HTTPS 1 . alpn=\"{alpn}\"{port}")
    };
    hosts
        .flat_map(|name| ports.iter().map(move |port| line(name, *port)))
        .collect()
}

/// Whether a name belongs to a zone: it is neither an address nor a name of this machine only (RFC
/// 6761 §6.3).
fn is_of_a_zone(name: &str) -> bool {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    let is_here = name == "localhost" || name.ends_with(".localhost");
    name.parse::<IpAddr>().is_err() && !is_here
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_for_each_name() {
        let names = [
            "mail.example",
            "*.mail.example",
            "192.0.2.1",
            "localhost",
            "a.LocalHost.",
        ]
        .map(str::to_owned);
        let mut listen = Listen {
            h3: true,
            https: vec!["[::]:443".parse().unwrap(), "0.0.0.0:443".parse().unwrap()],
            ..Listen::default()
        };
        assert_eq!(
            https(&listen, &names),
            [
                "mail.example. 300 IN HTTPS 1 . alpn=\"h3,h2\"",
                "*.mail.example. 300 IN HTTPS 1 . alpn=\"h3,h2\"",
            ]
        );
        listen.h3 = false;
        listen.https = vec!["[::]:8443".parse().unwrap()];
        assert_eq!(
            https(&listen, &names[..1]),
            ["mail.example. 300 IN HTTPS 1 . alpn=\"h2\" port=8443"]
        );
        listen.public_port = 443;
        assert!(!https(&listen, &names)[0].contains("port="));
        listen.https.clear();
        assert!(https(&listen, &names).is_empty());
    }
}
