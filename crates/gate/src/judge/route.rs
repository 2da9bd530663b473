//! Chooses a request's route by its host, and by every way in which a backend may read its path.

use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use crate::GateError;
use crate::config;
use crate::judge::CorsPolicy;
use crate::judge::login::ClaimRules;
use crate::judge::request::{Authority, BadRequestError, Rewrite, readings};

/// Where a request goes, and what it may do.
pub(crate) struct Route {
    host: String,
    /// The path without a trailing slash.
    path: String,
    /// The index of the route's upstream, in the order of the upstreams' names.
    pub(crate) upstream: usize,
    pub(crate) upstream_name: Rc<str>,
    pub(crate) auth: bool,
    pub(crate) login: bool,
    pub(crate) require: ClaimRules,
    pub(crate) upgrades: bool,
    pub(crate) streams: bool,
    pub(crate) half_close: bool,
    /// The largest body that is read whole before a connection is requested; 0: none is.
    pub(crate) buffer_request: u64,
    pub(crate) safe_jmap: bool,
    pub(crate) server_timing: bool,
    pub(crate) rewrite: Rewrite,
    pub(crate) cors: CorsPolicy,
}

impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Route({}{})", self.host, self.path)
    }
}

/// A route with a host precedes one without; then the longest path wins.
pub(crate) struct Routes(Vec<Rc<Route>>);

impl Routes {
    /// A route refers to one of `upstreams` by index.
    pub(crate) fn new<U>(
        routes: &[config::Route],
        upstreams: &BTreeMap<String, U>,
    ) -> Result<Self, GateError> {
        let made: Result<Vec<_>, _> = routes.iter().map(|route| make(route, upstreams)).collect();
        let mut made = made?;
        made.sort_by_key(|route| (route.host.is_empty(), std::cmp::Reverse(route.path.len())));
        Ok(Self(made))
    }

    /// Finds the route. All readings of a path must lead to the same route, or the request is
    /// refused. Otherwise `/%6amap`, `/x;/jmap` or `/JMAP` could be admitted by another route than
    /// the one that protects `/jmap`.
    pub(crate) fn find(
        &self,
        host: &Authority<'_>,
        target: &str,
    ) -> Result<Option<&Rc<Route>>, BadRequestError> {
        let readings = readings(target)?;
        let found = self.look(host, readings.literal, <[u8]>::eq);
        for reading in readings.all() {
            let same_case = self.look(host, reading, <[u8]>::eq);
            let any_case = self.look(host, reading, <[u8]>::eq_ignore_ascii_case);
            if !is_same(found, same_case) || !is_same_in_capitals(found, any_case) {
                return Err(BadRequestError::TwoWays);
            }
        }
        Ok(found)
    }

    /// Whether any route allows upgrades.
    pub(crate) fn have_upgrades(&self) -> bool {
        self.0.iter().any(|route| route.upgrades)
    }

    fn look(
        &self,
        host: &Authority<'_>,
        path: &[u8],
        is: impl Fn(&[u8], &[u8]) -> bool,
    ) -> Option<&Rc<Route>> {
        self.0.iter().find(|route| {
            is_below(path, route.path.as_bytes(), &is)
                && (route.host.is_empty() || host.is_host(&route.host))
        })
    }
}

fn is_same(a: Option<&Rc<Route>>, b: Option<&Rc<Route>>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => Rc::ptr_eq(a, b),
        (None, None) => true,
        _ => false,
    }
}

/// Routes that differ only in case were distinguished on purpose.
fn is_same_in_capitals(a: Option<&Rc<Route>>, b: Option<&Rc<Route>>) -> bool {
    let other_case =
        |a: &Rc<Route>, b: &Rc<Route>| a.host == b.host && a.path.eq_ignore_ascii_case(&b.path);
    is_same(a, b) || a.zip(b).is_some_and(|(a, b)| other_case(a, b))
}

fn make<U>(route: &config::Route, upstreams: &BTreeMap<String, U>) -> Result<Rc<Route>, GateError> {
    // A gate that only answers proxies needs none.
    let nowhere = route.upstream.is_empty().then_some(usize::MAX);
    let upstream = upstreams.keys().position(|name| *name == route.upstream);
    let upstream = upstream.or(nowhere);
    let upstream = upstream.ok_or_else(|| GateError::NoUpstream {
        route: format!("{}{}", route.host, route.path),
        upstream: route.upstream.clone(),
    })?;
    let wrong = |why: String| GateError::Route {
        route: format!("{}{}", route.host, route.path),
        why,
    };
    let rewrite = Rewrite::new(route).map_err(|error| wrong(error.to_string()))?;
    let cors = CorsPolicy::new(&route.cors).map_err(|error| wrong(error.to_string()))?;
    Ok(Rc::new(Route {
        host: route.bare_host(),
        path: route.path.trim_end_matches('/').to_owned(),
        upstream,
        upstream_name: route.upstream.as_str().into(),
        auth: route.auth,
        login: route.login,
        require: ClaimRules::new(&route.require),
        upgrades: route.upgrades,
        streams: route.streams,
        half_close: route.half_close,
        buffer_request: route.buffer_request.0,
        safe_jmap: route.safe_jmap,
        server_timing: route.server_timing,
        rewrite,
        cors,
    }))
}

/// `/jmap` matches `/jmap` and `/jmap/x`, not `/jmapx`; `*` matches `/` only.
pub(crate) fn is_below(path: &[u8], route: &[u8], is: impl Fn(&[u8], &[u8]) -> bool) -> bool {
    let Some((start, rest)) = path.split_at_checked(route.len()) else {
        return false;
    };
    is(start, route)
        && matches!(
            (rest.first(), route),
            (None | Some(b'/'), _) | (Some(b'*'), [])
        )
}

#[cfg(test)]
mod tests;
