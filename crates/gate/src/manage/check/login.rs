//! `[login]` and the routes where people may log in: a provider that can be asked, sessions that
//! can be sealed, and cookies that browsers give back.

use std::collections::BTreeSet;

use url::Url;

use super::CheckReport;
use super::listen::is_far;
use crate::config::meaning::algorithm;
use crate::config::{Config, Login, Route};
use crate::judge::request::is_token;

/// The shortest secret, in bytes; client secrets issued by providers are longer.
const MIN_SECRET: usize = 16;
/// Browsers accept names with this prefix only from this host, over TLS, for all its paths.
const HOST_PREFIX: &str = "__Host-";

/// Parameters of the authorization request that gate sets.
const RESERVED: [&str; 9] = [
    "response_type",
    "client_id",
    "redirect_uri",
    "scope",
    "state",
    "nonce",
    "code_challenge",
    "code_challenge_method",
    "response_mode",
];

pub(super) fn check(config: &Config, report: &mut CheckReport) {
    routes(config, report);
    let Some(login) = &config.login else {
        return;
    };
    if !config.route.iter().any(|route| route.login) {
        let what = "nobody can log in: no route has login = true";
        report.warn("login", what);
    }
    if config.session.seal.is_empty() {
        let what = "logins are stored sealed, and there is no key; add a [[session.seal]]";
        report.error("session.seal", what);
    }
    secure(config, login, report);
    paths(login, report);
    cookie(config, login, report);
    provider(login, report);
    if login.life.0.as_secs() < 60 {
        report.error("login.life", "a login has to last for a minute at least");
    }
    if login.leeway.0.as_secs() > 600 {
        report.warn(
            "login.leeway",
            "expired tokens of the provider stay valid for that long",
        );
    }
}

/// Whether every route that needs a session can be used after a login, so that no key for tokens is
/// needed.
pub(super) fn is_enough(config: &Config) -> bool {
    let mut wanted = config.route.iter().filter(|route| route.auth);
    config.login.is_some() && wanted.all(|route| route.login)
}

fn routes(config: &Config, report: &mut CheckReport) {
    for (n, route) in config.route.iter().enumerate() {
        let Route { auth, login, .. } = *route;
        let place = format!("route[{n}].login");
        if login && config.login.is_none() {
            report.error(
                &place,
                "there is no [login], which says where people log in",
            );
        }
        if login && !auth {
            report.error(&place, "it has no effect without auth = true");
        }
        let place = format!("route[{n}].require");
        if !(route.require.is_empty() || login && auth) {
            let what = "only logins have claims: set login = true, or nothing is passed on";
            report.error(&place, what);
        }
        for (claim, values) in &route.require {
            if values.is_empty() {
                let what = format!("'{claim}' has no value, so nothing is passed on");
                report.error(&place, what);
            }
            if claim == "email_domain" && values.iter().any(|value| value.contains('@')) {
                report.error(&place, "a domain has no '@' in it");
            }
        }
    }
}

/// A login needs https, except on this machine.
fn secure(config: &Config, login: &Login, report: &mut CheckReport) {
    let listen = &config.listen;
    let only_clear = listen.https.is_empty() && listen.http.iter().any(is_far);
    if only_clear && login.origin.is_none() && listen.trusted.is_empty() {
        let what = "without https nobody can log in; set 'listen.https', or 'login.origin' and \
                    'listen.trusted' if a proxy in front of gate has TLS";
        report.warn("login", what);
    }
}

fn paths(login: &Login, report: &mut CheckReport) {
    let paths = [
        ("start", &login.start),
        ("callback", &login.callback),
        ("logout", &login.logout),
        ("backchannel_logout", &login.backchannel_logout),
        ("frontchannel_logout", &login.frontchannel_logout),
    ];
    let mut seen = BTreeSet::new();
    for (key, path) in paths {
        if !seen.insert(&**path) {
            report.error(
                format!("login.{key}"),
                "another of gate's own paths is the same",
            );
        }
    }
    if let Some(origin) = &login.origin {
        let url = Url::parse(origin).ok();
        let bare = url.filter(|url| url.origin().ascii_serialization() == *origin);
        match bare.as_ref().map(Url::scheme) {
            Some("https") => {}
            Some("http") => {
                let what = "over http://, anyone on the path gets the cookies; use https://, except on this machine";
                report.warn("login.origin", what);
            }
            _ => report.error(
                "login.origin",
                "write it as browsers do: https://app.example",
            ),
        }
    }
    if let Some(after) = &login.after_logout {
        let url = Url::parse(after).ok();
        if !url.is_some_and(|url| matches!(url.scheme(), "https" | "http")) {
            report.error(
                "login.after_logout",
                "it has to be a whole URL: https://app.example/bye",
            );
        }
    }
}

fn cookie(config: &Config, login: &Login, report: &mut CheckReport) {
    const PLACE: &str = "login.cookie";
    if !is_token(login.cookie.as_bytes()) {
        let what =
            "a cookie's name consists of letters, digits and !#$%&'*+-.^_`|~ (RFC 6265 §4.1.1)";
        return report.error(PLACE, what);
    }
    if login.cookie == config.token.cookie {
        report.error(PLACE, "'token.cookie' has the same name");
    }
    if !login.cookie.starts_with(HOST_PREFIX) {
        let what = "other hosts of this domain can set such a cookie; begin its name with __Host-";
        report.warn(PLACE, what);
    }
}

fn provider(login: &Login, report: &mut CheckReport) {
    if login.client_id.is_empty() {
        report.error(
            "login.client_id",
            "it is missing; the provider issues it when a client is registered",
        );
    }
    if let Some(from) = &login.client_secret {
        report.secret("login.client_secret", from);
        match from.read() {
            Ok(secret) if secret.line().len() < MIN_SECRET => {
                let what = format!("it is shorter than {MIN_SECRET} bytes; is it the right one?");
                report.warn("login.client_secret", what);
            }
            Ok(secret) if std::str::from_utf8(secret.line()).is_err() => {
                report.error("login.client_secret", "it is not UTF-8");
            }
            Ok(_) => {}
            Err(error) => report.error("login.client_secret", error),
        }
    }
    if !login.scopes.iter().any(|scope| scope == "openid") {
        report.error(
            "login.scopes",
            "without 'openid' the provider gives no ID token",
        );
    }
    for name in login.parameters.keys() {
        if RESERVED.contains(&name.as_str()) {
            let what = format!("'{name}' is set by gate itself");
            report.error("login.parameters", what);
        }
    }
    if login.algorithms.is_empty() {
        let what = "without an algorithm, no token can be verified; name one";
        report.error("login.algorithms", what);
    }
    for (n, name) in login.algorithms.iter().enumerate() {
        let place = format!("login.algorithms[{n}]");
        match algorithm(name) {
            Ok(_) if name.starts_with("HS") => {
                let what = "the provider's keys are public, so none may be a secret";
                report.error(place, what);
            }
            Ok(_) => {}
            Err(error) => report.error(place, error),
        }
    }
    if let Some(ca) = &login.ca {
        report.authority("login.ca", ca);
    }
}
