//! Checks `[authz]`: only trusted proxies may ask, because an answer contains the session's login.

use super::CheckReport;
use super::listen::is_far;
use super::listen::{is_everybody, spelling};
use crate::config::Config;

/// Shorter secrets can be guessed.
const MIN_SECRET: usize = 16;

pub(super) fn check(config: &Config, report: &mut CheckReport) {
    let authz = &config.authz;
    if !authz.is_on() {
        return;
    }
    if authz.trusted.is_empty() {
        let what = "no proxy may ask; list their networks, as in [\"10.0.0.0/8\"]";
        report.error("authz.trusted", what);
    }
    spelling("authz.trusted", &authz.trusted, report);
    removal(config, report);
    let everybody = authz.trusted.iter().any(is_everybody);
    if everybody && authz.secret.is_none() {
        let what = "this includes every client, and answers contain the sessions' logins: list \
                    the proxies' networks, or set 'authz.secret'";
        report.error("authz.trusted", what);
    }
    if let Some(from) = &authz.secret {
        report.secret("authz.secret", from);
        match from.read() {
            Ok(secret) if secret.line().len() < MIN_SECRET => {
                let what = format!("the secret is shorter than {MIN_SECRET} bytes");
                report.error("authz.secret", what);
            }
            Ok(secret) if !secret.line().iter().all(u8::is_ascii_graphic) => {
                let what = "proxies send it in a field, so it may contain only visible ASCII";
                report.error("authz.secret", what);
            }
            Ok(_) => {}
            Err(error) => report.error("authz.secret", super::advised(error, from, 32)),
        }
    }
    for (key, list) in authz.addresses() {
        if let Some(address) = list.iter().find(|address| is_far(address))
            && key != "authz.https"
        {
            let what = format!(
                "answers contain logins, and {address} can be reached over the network without TLS; use 'authz.https'"
            );
            report.warn(key, what);
        }
    }
}

/// Warns if fields are removed for proxies other than Envoy's gRPC: only that protocol has a way to
/// say it.
fn removal(config: &Config, report: &mut CheckReport) {
    let asks_over_http =
        |(key, list): (&str, &[std::net::SocketAddr])| key != "authz.grpc" && !list.is_empty();
    if !config.authz.addresses().into_iter().any(asks_over_http) {
        return;
    }
    for (n, route) in config.route.iter().enumerate() {
        if !route.remove.is_empty() {
            let what = "proxies that ask over HTTP cannot be told to remove fields: remove these \
                        in the proxy's own configuration too";
            report.warn(format!("route[{n}].remove"), what);
        }
    }
}
