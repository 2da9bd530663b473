//! `[token]`: at least one place for tokens, and a key that can verify one.

use url::Url;

use super::CheckReport;
use super::login::is_enough;
use crate::config::meaning::algorithm;
use crate::config::{Config, Jwks, SecretFrom};
use crate::judge::configured::{add_key, allowed};
use crate::judge::guard::Keys;

/// Bytes of a new secret for HS512. RFC 7518 §3.2.
const SIGNING: usize = 64;

pub(super) fn check(config: &Config, report: &mut CheckReport) {
    let token = &config.token;
    let wanted = config.route.iter().any(|route| route.auth) && !is_enough(config);
    if wanted && token.cookie.is_empty() && !token.bearer {
        let what = "no place for tokens is configured; name a cookie, or set bearer = true";
        report.error("token.cookie", what);
    }
    if token.cookie.bytes().any(|b| !is_token_byte(b)) {
        let what =
            "a cookie's name consists of letters, digits and !#$%&'*+-.^_`|~ (RFC 6265 §4.1.1)";
        report.error("token.cookie", what);
    }
    if wanted && token.key.is_empty() && token.jwks.is_none() {
        let what = "a route needs a session, but there is no key that can verify a token; \
                    add a [[token.key]], or set auth = false in the route";
        report.error("token.key", what);
    }
    if token.leeway.0.as_secs() > 3600 {
        report.warn("token.leeway", "expired tokens stay valid for that long");
    }
    keys(config, report);
    if let Some(jwks) = &token.jwks {
        set(jwks, report);
    }
}

/// Checks each key by itself, so that all errors are reported.
fn keys(config: &Config, report: &mut CheckReport) {
    for (n, key) in config.token.key.iter().enumerate() {
        let place = format!("token.key[{n}]");
        if key.algorithm.starts_with("HS") {
            report.secret(&format!("{place}.from"), &key.from);
        } else if let SecretFrom::File(path) = &key.from {
            report.path(&format!("{place}.from"), path);
        }
        let mut alone = match algorithm(&key.algorithm) {
            Ok(algorithm) => Keys::new(&[algorithm]),
            Err(error) => {
                report.error(format!("{place}.algorithm"), error);
                continue;
            }
        };
        if let Err(error) = add_key(&mut alone, key) {
            let what = super::advised(error, &key.from, SIGNING);
            report.error(format!("{place}.from"), what);
        }
        let earlier = config.token.key.get(..n).unwrap_or_default();
        if earlier.contains(key) {
            report.warn(place, "the same key is listed twice");
        }
    }
}

fn set(jwks: &Jwks, report: &mut CheckReport) {
    const PLACE: &str = "token.jwks";
    for (n, name) in jwks.algorithms.iter().enumerate() {
        if let Err(error) = algorithm(name) {
            report.error(format!("{PLACE}.algorithms[{n}]"), error);
        }
    }
    if jwks.algorithms.is_empty() {
        report.error(
            format!("{PLACE}.algorithms"),
            "without an algorithm, no key of the set can be used; name one",
        );
    }
    match (&jwks.file, &jwks.url) {
        (Some(path), None) => {
            let place = format!("{PLACE}.file");
            report.path(&place, path);
            let only = crate::config::Tokens {
                jwks: Some(jwks.clone()),
                ..Default::default()
            };
            if let Ok(allowed) = allowed(&only)
                && let Err(error) = Keys::new(&allowed).add_jwks_file(path)
            {
                report.error(place, error);
            }
        }
        (None, Some(url)) => url_of_set(url, report),
        _ => report.error(PLACE, "set exactly one of 'file' and 'url'"),
    }
    if let Some(ca) = &jwks.ca {
        report.authority(&format!("{PLACE}.ca"), ca);
    }
    if jwks.every.0.as_secs() == 0 {
        report.error(format!("{PLACE}.every"), "the minimum is one second");
    }
}

fn url_of_set(text: &str, report: &mut CheckReport) {
    let place = "token.jwks.url";
    match Url::parse(text) {
        Ok(url) if url.scheme() == "https" => {}
        Ok(url) if url.scheme() == "http" => {
            let what = "over http://, anyone on the path could replace the keys; use https://";
            report.warn(place, what);
        }
        Ok(_) => report.error(place, "it has to begin with https://"),
        Err(error) => report.error(place, format!("it is not a URL: {error}")),
    }
}

/// RFC 9110 §5.6.2.
fn is_token_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b)
}
