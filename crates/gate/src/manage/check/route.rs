//! `[[route]]`: each leads to an upstream, and no two are the same.

use super::CheckReport;
use crate::config::{Config, Resumption, Route, UpstreamProtocol};
use crate::judge::CorsPolicy;
use crate::judge::request::{Authority, Rewrite, readings};
use crate::judge::route::is_below;

/// The number of fields for which a request has room besides the client's own.
const MAX_SET: usize = 100;

pub(super) fn check(config: &Config, report: &mut CheckReport) {
    if config.route.is_empty() {
        let what = "there is no route; add a [[route]] with upstream = \"…\"";
        report.error("route", what);
    }
    for (n, route) in config.route.iter().enumerate() {
        let place = format!("route[{n}]");
        let leads = route.upstream.is_empty() && !config.forwards();
        if !leads && !config.upstream.contains_key(&route.upstream) {
            unknown(&place, route, config, report);
        }
        if !route.path.starts_with('/') {
            report.error(format!("{place}.path"), "it has to begin with '/'");
        }
        if route.path.contains('*') {
            let what = "there are no wildcards: a path includes everything below it";
            report.error(format!("{place}.path"), what);
        }
        if route.path.contains(['?', '#']) {
            let what = "only the path is compared: it ends before '?' and '#'";
            report.error(format!("{place}.path"), what);
        }
        // Clients encode blanks and letters that are not ASCII, which servers read in two ways.
        let is_sent_as_it_is = route.path.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_sent_as_it_is || !has_one_reading(route.path.trim_end_matches('/')) {
            let what = "servers read such a path in more than one way: write it without '%', ';', '\\\\', '//', blanks, \
                        non-ASCII letters, and dots at either end of a segment";
            report.error(format!("{place}.path"), what);
        }
        if let Err(error) = CorsPolicy::new(&route.cors) {
            report.error(format!("{place}.cors.{}", error.key), error.why);
        }
        if let Err(error) = Rewrite::new(route) {
            report.error(format!("{place}.{}", error.key), error.why);
        }
        buffering(&place, route, config, report);
        upgrades(&place, route, config, report);
        host(&place, route, report);
        let earlier = config.route.get(..n).unwrap_or_default();
        if let Some(same) = earlier.iter().position(|other| meets(other, route)) {
            let what = format!("'route[{same}]' is for the same host and path; remove one of them");
            report.error(&place, what);
        }
        hidden(&place, route, config, report);
        if route.set.len() > MAX_SET {
            let what = format!("at most {MAX_SET} fields can be set");
            report.error(format!("{place}.set"), what);
        }
        let early = config.tls.early_data && config.tls.resumption == Resumption::SingleUse;
        if route.safe_jmap && !early {
            let what = "it has no effect while 'tls.early_data' is off";
            report.warn(format!("{place}.safe_jmap"), what);
        }
    }
}

fn buffering(place: &str, route: &Route, config: &Config, report: &mut CheckReport) {
    let place = format!("{place}.buffer_request");
    let size = route.buffer_request.0;
    if size > 0 && route.streams {
        let what = "it waits for the end of a body, and 'streams' passes bodies on as they arrive; \
                    remove one of them";
        report.error(&place, what);
    }
    let limits = &config.limits;
    for (name, limit) in [
        ("body", limits.body),
        ("buffered", limits.buffered),
        ("buffered_per_client", limits.buffered_per_client),
    ] {
        if size > limit.0 {
            let what = format!("no body can be that large: 'limits.{name}' is smaller");
            report.error(&place, what);
        }
    }
}

fn upgrades(place: &str, route: &Route, config: &Config, report: &mut CheckReport) {
    let upstream = config.upstream.get(&route.upstream);
    if route.upgrades && upstream.is_some_and(|u| u.protocol == UpstreamProtocol::H2) {
        let what = format!(
            "gate passes upgrades on over HTTP/1.1 only; set protocol = \"h1\" in [upstream.{}]",
            route.upstream
        );
        report.warn(format!("{place}.upgrades"), what);
    }
    for (key, on) in [("upgrades", route.upgrades), ("streams", route.streams)] {
        if on && upstream.is_some_and(|u| u.tunnels == 0) {
            let what = format!(
                "every request gets 503: [upstream.{}] has tunnels = 0",
                route.upstream
            );
            report.error(format!("{place}.{key}"), what);
        }
    }
}

fn has_one_reading(path: &str) -> bool {
    readings(path).is_ok_and(|readings| readings.all().count() == 1)
}

fn unknown(place: &str, route: &Route, config: &Config, report: &mut CheckReport) {
    let place = format!("{place}.upstream");
    if route.upstream.is_empty() {
        return report.error(place, "it has to name an [upstream.…]");
    }
    let known: Vec<&str> = config.upstream.keys().map(String::as_str).collect();
    let what = match known.as_slice() {
        [] => format!("there is no [upstream.{}]", route.upstream),
        known => format!(
            "there is no [upstream.{}], only {}",
            route.upstream,
            known.join(", ")
        ),
    };
    report.error(place, what);
}

/// The error if the text is more than a host name.
pub(super) fn not_a_host(text: &str) -> Option<&'static str> {
    const WHAT: &str = "it must be only a host name: no scheme, no port, no path, no '*'";
    text.contains([':', '/', '*']).then_some(WHAT)
}

fn host(place: &str, route: &Route, report: &mut CheckReport) {
    let place = format!("{place}.host");
    let host = route.host.as_str();
    if host.is_empty() {
        return;
    }
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    if bare.parse::<std::net::Ipv6Addr>().is_ok() {
        return;
    }
    if let Some(what) = not_a_host(host) {
        return report.error(place, what);
    }
    if Authority::parse(host).is_some_and(|host| host.is_unclear_number()) {
        let what = "write an IPv4 address as four decimals: other spellings are refused";
        return report.error(place, what);
    }
    let fits = |b: u8| b.is_ascii_alphanumeric() || b"-._".contains(&b);
    if !host.bytes().all(fits) {
        let what = "write names that are not ASCII as clients send them: xn--…";
        report.error(place, what);
    }
}

/// A route with a host precedes those without, so an open one may hide guarded paths.
fn hidden(place: &str, open: &Route, config: &Config, report: &mut CheckReport) {
    if open.auth || open.host.is_empty() {
        return;
    }
    let guarded = config
        .route
        .iter()
        .enumerate()
        .filter(|(_, route)| route.auth && route.host.is_empty())
        .filter(|(_, route)| covers(open, route) && !covers(route, open));
    for (n, guarded) in guarded {
        let of_host = config.route.iter();
        let of_host = of_host.filter(|route| route.bare_host() == open.bare_host());
        let nearest = of_host.filter(|route| covers(route, guarded));
        let nearest = nearest.max_by_key(|route| route.path.len());
        if nearest.is_some_and(|nearest| std::ptr::eq(nearest, open)) {
            let what = format!(
                "for this host, {} needs no session: a route with a host precedes 'route[{n}]'",
                guarded.path
            );
            report.warn(place, what);
        }
    }
}

/// Whether the other route's path is the same as, or below, this one's.
fn covers(route: &Route, other: &Route) -> bool {
    let [route, other] = [route, other].map(|r| r.path.trim_end_matches('/').as_bytes());
    is_below(other, route, <[u8]>::eq)
}

/// Hosts match in any case (RFC 9110 §4.2.3); a path matches with and without its trailing '/'.
fn meets(a: &Route, b: &Route) -> bool {
    let path = |route: &Route| route.path.trim_end_matches('/').to_owned();
    a.bare_host() == b.bare_host() && path(a) == path(b)
}
