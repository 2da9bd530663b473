//! What a thread serves by: routes, upstreams, limits, and the door. Replaced whole when the configuration changes.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::rc::Rc;

use crate::GateError;
use crate::config::{self, Config, Limits, Network};
use crate::door::Door;
use crate::exchange::Asked;
use crate::request::{self, Field, Refusal, Version};
use crate::upstream::Upstream;

pub(crate) struct Site<S> {
    pub(crate) door: Door<S>,
    pub(crate) routes: Routes,
    pub(crate) limits: Limits,
    trusted: Vec<Network>,
    /// The value of `Alt-Svc` for those who came over TCP. RFC 9114 §3.1.1.
    alt_svc: Option<String>,
}

impl<S> Site<S> {
    pub(crate) fn new(
        config: &Config,
        door: Door<S>,
        upstreams: &BTreeMap<String, Rc<Upstream>>,
        alt_svc: Option<String>,
    ) -> Result<Self, GateError> {
        Ok(Self {
            door,
            routes: Routes::new(&config.route, upstreams)?,
            limits: config.limits.clone(),
            trusted: config.listen.trusted.clone(),
            alt_svc,
        })
    }

    /// May this client say whom it speaks for?
    pub(crate) fn trusts(&self, client: IpAddr) -> bool {
        self.trusted.iter().any(|network| network.contains(client))
    }

    /// What gate adds to an answer, put into `room`.
    pub(crate) fn fields<'r, 's>(
        &'s self,
        asked: &Asked,
        timing: &'s [u8],
        id: &'s [u8],
        room: &'r mut [Field<'s>; 3],
    ) -> &'r [Field<'s>] {
        let mut count = 0;
        let mut add = |name, value| {
            if let Some(field) = room.get_mut(count) {
                *field = Field { name, value };
                count += 1;
            }
        };
        if !timing.is_empty() {
            add("Server-Timing", timing);
        }
        if !id.is_empty() {
            add(request::ID, id);
        }
        if let Some(value) = &self.alt_svc
            && asked.secure
            && asked.version < Version::H3
        {
            add("Alt-Svc", value.as_bytes());
        }
        room.get(..count).unwrap_or_default()
    }
}

/// Where a request goes, and what it may.
pub(crate) struct Route {
    host: String,
    path: String,
    pub(crate) upstream: Rc<Upstream>,
    pub(crate) auth: bool,
    pub(crate) upgrades: bool,
    pub(crate) streams: bool,
    pub(crate) safe_jmap: bool,
    pub(crate) server_timing: bool,
}

impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Route({}{})", self.host, self.path)
    }
}

/// A route with a host goes before one without, and then the longest path.
pub(crate) struct Routes(Vec<Rc<Route>>);

impl Routes {
    pub(crate) fn new(
        routes: &[config::Route],
        upstreams: &BTreeMap<String, Rc<Upstream>>,
    ) -> Result<Self, GateError> {
        let made: Result<Vec<_>, _> = routes.iter().map(|route| make(route, upstreams)).collect();
        let mut made = made?;
        made.sort_by_key(|route| (route.host.is_empty(), std::cmp::Reverse(route.path.len())));
        Ok(Self(made))
    }

    /// What a backend may read in two ways leads where both lead, or is refused: else who asks for `/%6amap` or `/x//jmap`
    /// could be let in by another route than the one that guards `/jmap`.
    pub(crate) fn find(&self, host: &str, path: &str) -> Result<Option<&Rc<Route>>, Refusal> {
        let found = self.look(host, path);
        let Some(plain) = plainer(path) else {
            return Ok(found);
        };
        let meant = self.look(host, &plain);
        let same = match (found, meant) {
            (Some(found), Some(meant)) => Rc::ptr_eq(found, meant),
            (None, None) => true,
            _ => false,
        };
        if same {
            Ok(found)
        } else {
            Err(Refusal::TwoWays)
        }
    }

    fn look(&self, host: &str, path: &str) -> Option<&Rc<Route>> {
        let host = without_port(host);
        self.0.iter().find(|route| {
            (route.host.is_empty() || route.host.eq_ignore_ascii_case(host))
                && is_below(path, &route.path)
        })
    }
}

fn make(
    route: &config::Route,
    upstreams: &BTreeMap<String, Rc<Upstream>>,
) -> Result<Rc<Route>, GateError> {
    let upstream = upstreams.get(&route.upstream);
    let upstream = upstream.ok_or_else(|| GateError::NoUpstream {
        route: format!("{}{}", route.host, route.path),
        upstream: route.upstream.clone(),
    })?;
    Ok(Rc::new(Route {
        host: route.host.clone(),
        path: route.path.clone(),
        upstream: upstream.clone(),
        auth: route.auth,
        upgrades: route.upgrades,
        streams: route.streams,
        safe_jmap: route.safe_jmap,
        server_timing: route.server_timing,
    }))
}

/// The path without needless percent signs (RFC 3986 §6.2.2.2) and empty segments, where it has such.
fn plainer(path: &str) -> Option<String> {
    let path = path.split('?').next().unwrap_or_default();
    if !path.contains('%') && !path.contains("//") {
        return None;
    }
    let mut plain = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(next) = rest.chars().next() {
        let code = rest.get(1..3).filter(|_| next == '%');
        let byte = code.and_then(|code| u8::from_str_radix(code, 16).ok());
        let meant = byte
            .map(char::from)
            .filter(|c| c.is_ascii_graphic() && *c != '?');
        let length = if meant.is_some() { 3 } else { next.len_utf8() };
        let meant = meant.unwrap_or(next);
        if !(meant == '/' && plain.ends_with('/')) {
            plain.push(meant);
        }
        rest = rest.get(length..).unwrap_or_default();
    }
    (plain != path).then_some(plain)
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    }
}

/// `/jmap` holds `/jmap`, `/jmap/x` and `/jmap?x`, and not `/jmapx`; `*` is of `/` alone.
fn is_below(path: &str, route: &str) -> bool {
    let route = route.strip_suffix('/').unwrap_or(route);
    let Some(rest) = path.strip_prefix(route) else {
        return false;
    };
    rest.is_empty() || rest.starts_with(['/', '?']) || (route.is_empty() && rest == "*")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_told_apart_at_slashes() {
        for (path, route, below) in [
            ("/jmap", "/jmap", true),
            ("/jmap/x", "/jmap", true),
            ("/jmap/", "/jmap/", true),
            ("/jmap", "/jmap/", true),
            ("/jmap?x", "/jmap", true),
            ("/jmapx", "/jmap", false),
            ("/JMAP", "/jmap", false),
            ("/", "/jmap", false),
            ("/anything", "/", true),
            ("*", "/", true),
            ("*", "/x", false),
        ] {
            assert_eq!(is_below(path, route), below, "{path} below {route}");
        }
    }

    #[test]
    fn what_may_be_read_in_two_ways_is_read_plainly_too() {
        for (path, plain) in [
            ("/jmap", None),
            ("/%6amap", Some("/jmap")),
            ("/%6Amap?%6a", Some("/jmap")),
            ("/x//jmap", Some("/x/jmap")),
            ("/x/%2fjmap", Some("/x/jmap")),
            ("/a%20b", None),
            ("/a%ffb%zz%", None),
            ("/%e2%82%ac", None),
        ] {
            assert_eq!(plainer(path).as_deref(), plain, "{path}");
        }
    }

    #[test]
    fn a_host_is_itself_without_its_port() {
        for (host, bare) in [
            ("a.example", "a.example"),
            ("a.example:8443", "a.example"),
            ("[::1]:8443", "[::1]"),
            ("[::1]", "[::1]"),
        ] {
            assert_eq!(without_port(host), bare);
        }
    }
}
