//! The five lines that `gate run` prints when it serves: its addresses, its backends, where
//! sessions are, and how to try it.

use std::net::SocketAddr;
use std::path::Path;

use roundtrip_gate::config::Config;

/// The lines with the gate's actual addresses; `file` is its configuration.
pub(super) fn lines(config: &Config, file: Option<&Path>) -> String {
    let with = file.map_or(String::new(), |file| format!(" --config {}", quoted(file)));
    let ask = match example(config) {
        None if let Some(address) = config.authz.http.first() => format!(
            "curl -i -H 'X-Original-Method: GET' -H 'X-Original-URL: https://site.example/' http://{}/original",
            reachable(*address)
        ),
        Some((url, _)) if !wants_session(config) => format!("curl {url}"),
        Some((url, insecure)) => format!(
            "curl {}-H \"$(roundtrip gate token --sub alice --sid alice --bearer{with})\" {url}",
            if insecure { "-k " } else { "" },
        ),
        None => "there is no address for clients".into(),
    };
    [
        format!("gate: {}", doors(config)),
        format!("to:   {}", answerers(config)),
        format!(
            "sessions: {}; add one: roundtrip gate session put alice{with}",
            config.session.store
        ),
        format!("then: {ask}"),
        tail(config, file),
    ]
    .map(|line| line + "\n")
    .concat()
}

fn doors(config: &Config) -> String {
    let urls = |scheme: &str, addresses: &[SocketAddr]| -> Vec<String> {
        let url = |address| format!("{scheme}://{address}");
        addresses.iter().map(url).collect()
    };
    let mut all = urls("http", &config.listen.http);
    let secure = urls("https", &config.listen.https);
    if !secure.is_empty() {
        let versions = if config.listen.h3 {
            "h1, h2, h3"
        } else {
            "h1, h2"
        };
        let own = if config.acme.is_some() {
            "; certificates by ACME"
        } else if config.tls.certificate.is_empty() {
            "; a self-signed certificate, which no client trusts"
        } else {
            ""
        };
        all.push(format!("{} ({versions}{own})", secure.join(", ")));
    }
    let asked = [
        ("http", &config.authz.http),
        ("grpc", &config.authz.grpc),
        ("https", &config.authz.https),
    ];
    let asked = asked.iter().flat_map(|(scheme, list)| urls(scheme, list));
    let asked: Vec<String> = asked.collect();
    if !asked.is_empty() {
        all.push(format!("for proxies: {}", asked.join(", ")));
    }
    all.join(", ")
}

fn answerers(config: &Config) -> String {
    let of = |route: &roundtrip_gate::config::Route| {
        let upstream = config.upstream.get(&route.upstream);
        let servers = upstream.map_or("no backend".into(), |upstream| upstream.servers.join(", "));
        let condition = if route.auth {
            ""
        } else {
            " (without a session)"
        };
        match (route.host.as_str(), route.path.as_str()) {
            ("", "/") => format!("{servers}{condition}"),
            (host, path) => format!("{host}{path} → {servers}{condition}"),
        }
    };
    match config.route.as_slice() {
        all if all.len() <= 3 => all.iter().map(of).collect::<Vec<_>>().join("; "),
        all => format!("{} routes, {} upstreams", all.len(), config.upstream.len()),
    }
}

/// A URL to try, and whether curl needs a flag to trust the certificate.
fn example(config: &Config) -> Option<(String, bool)> {
    let clear = config.listen.http.first();
    let clear = clear.map(|address| (format!("http://{}/", reachable(*address)), false));
    let secure = config.listen.https.first();
    let own = config.tls.certificate.is_empty() && config.acme.is_none();
    clear.or_else(|| secure.map(|address| (format!("https://{}/", reachable(*address)), own)))
}

/// An address at which clients can connect: they cannot connect to "all addresses".
fn reachable(address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V4(v4) if v4.ip().is_unspecified() => ([127, 0, 0, 1], v4.port()).into(),
        SocketAddr::V6(v6) if v6.ip().is_unspecified() => {
            (std::net::Ipv6Addr::LOCALHOST, v6.port()).into()
        }
        other => other,
    }
}

fn wants_session(config: &Config) -> bool {
    config.route.iter().any(|route| route.auth)
}

fn tail(config: &Config, file: Option<&Path>) -> String {
    let admin = match config.admin.listen {
        Some(address) => format!("live: http://{address}/; "),
        None => String::new(),
    };
    match file {
        Some(file) => format!(
            "{admin}SIGHUP reloads {}; SIGTERM or Ctrl-C ends",
            file.display()
        ),
        None => format!("{admin}Ctrl-C ends; your own settings: roundtrip gate init -o gate.toml"),
    }
}

/// Quoted for a shell.
pub(super) fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    if text.chars().all(plain) {
        text
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use roundtrip_gate::config::Home;

    use super::*;

    #[test]
    fn without_a_file() {
        let told = lines(&Home::at("/s").config(), None);
        assert_eq!(
            told,
            "gate: http://127.0.0.1:8080, https://127.0.0.1:8443 (h1, h2, h3; a self-signed certificate, which no client trusts)\n\
             to:   http://127.0.0.1:8000\n\
             sessions: redb:/s/sessions.redb; add one: roundtrip gate session put alice\n\
             then: curl -H \"$(roundtrip gate token --sub alice --sid alice --bearer)\" http://127.0.0.1:8080/\n\
             live: http://127.0.0.1:9180/; Ctrl-C ends; your own settings: roundtrip gate init -o gate.toml\n"
        );
    }

    #[test]
    fn with_a_file() {
        let text = "[listen]\nhttps = [\"[::]:443\"]\nh3 = false\n[[route]]\nhost = \"a.example\"\nupstream = \"u\"\n\
                    [upstream.u]\nservers = [\"http://h:1\", \"http://h:2\"]\n";
        let config = Config::parse(text, "f").unwrap();
        assert_eq!(
            lines(&config, Some(Path::new("/my files/f"))),
            "gate: https://[::]:443 (h1, h2; a self-signed certificate, which no client trusts)\n\
             to:   a.example/ → http://h:1, http://h:2\n\
             sessions: memory:; add one: roundtrip gate session put alice --config '/my files/f'\n\
             then: curl -k -H \"$(roundtrip gate token --sub alice --sid alice --bearer --config '/my files/f')\" https://[::1]:443/\n\
             SIGHUP reloads /my files/f; SIGTERM or Ctrl-C ends\n"
        );
    }
}
