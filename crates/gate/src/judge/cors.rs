//! Decides which pages of other origins may use a route, and writes the fields that tell browsers
//! so (WHATWG Fetch §3.2). A browser sends cookies even with requests that its user does not
//! notice, so a request that changes something is refused unless it comes from a known page (RFC
//! 6455 §10.2).

use std::rc::Rc;

use crate::config::{self, Preflight};
use crate::judge::request::{
    Authority, Body, Field, Inspected, Request, is_token, overrides_method,
};

/// Longer values are not legitimate.
const MAX_REQUEST_HEADERS: usize = 1024;
const ANY: &str = "*";

#[derive(Debug, Default)]
pub(crate) struct CorsPolicy {
    preflight: Preflight,
    /// The origins as browsers write them; empty if all are allowed.
    origins: Vec<String>,
    any: bool,
    methods: AllowedNames,
    headers: AllowedNames,
    expose: String,
    credentials: bool,
    max_age: String,
}

/// Names in a list, or whatever the browser requests.
#[derive(Debug, Default)]
struct AllowedNames {
    listed: String,
    any: bool,
}

/// An error in the settings, and the key that has it.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("cors.{key}: {why}")]
pub(crate) struct CorsError {
    pub(crate) key: &'static str,
    pub(crate) why: String,
}

/// The CORS fields of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CorsHeaders {
    fields: Vec<(&'static str, String)>,
    /// The backend's own CORS fields are not passed on.
    replaces: bool,
}

/// What to do with a request because of its origin.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum CorsDecision {
    /// A preflight that gate answers.
    Answered(CorsHeaders),
    Refused,
    /// A preflight for the backend, without a session and without other fields.
    Anonymous,
    /// The request is authenticated as usual.
    Usual,
}

impl CorsPolicy {
    pub(crate) fn new(settings: &config::Cors) -> Result<Self, CorsError> {
        let error = |key, why: String| Err(CorsError { key, why });
        let any = settings.origins.iter().any(|origin| origin == ANY);
        if any && settings.origins.len() > 1 {
            return error("origins", "'*' must be the only entry".into());
        }
        if any && settings.credentials {
            let why =
                "not allowed with '*': any page could act in its visitor's name; list the origins";
            return error("credentials", why.into());
        }
        if settings.origins.is_empty() && settings.preflight == Preflight::Answer {
            let why = "no origin is allowed; list the allowed origins";
            return error("origins", why.into());
        }
        if let Some(wrong) = settings.origins.iter().find(|o| !any && !is_origin(o)) {
            let why =
                format!("'{wrong}' is not an origin as browsers write it: https://app.example");
            return error("origins", why);
        }
        Ok(Self {
            preflight: settings.preflight,
            origins: if any {
                Vec::new()
            } else {
                settings.origins.clone()
            },
            any,
            methods: AllowedNames::new("methods", &settings.methods)?,
            headers: AllowedNames::new("headers", &settings.headers)?,
            expose: AllowedNames::new("expose", &settings.expose)?.listed,
            credentials: settings.credentials,
            max_age: settings.max_age.0.as_secs().to_string(),
        })
    }

    /// `own` is the request's own origin; `upgrade`: whether it is an upgrade and the route allows
    /// upgrades.
    pub(crate) fn look(
        &self,
        request: &Request<'_>,
        inspected: &Inspected<'_>,
        upgrade: bool,
        own: &OwnOrigin<'_>,
        by_cookie: impl FnOnce() -> bool,
    ) -> CorsDecision {
        match self.asked(request, inspected) {
            Some(look) => look,
            None if self.is_foreign(request, upgrade, own, by_cookie) => CorsDecision::Refused,
            None => CorsDecision::Usual,
        }
    }

    /// `None` if this is not a preflight, or if preflights are treated like other requests.
    fn asked(&self, request: &Request<'_>, inspected: &Inspected<'_>) -> Option<CorsDecision> {
        if self.preflight == Preflight::Off
            || request.method != "OPTIONS"
            || inspected.body != Body::None
            || inspected.upgrade.is_some()
            || overridden(request)
        {
            return None;
        }
        let origin = only(request, "origin")?;
        let method = only(request, "access-control-request-method")?;
        if self.preflight == Preflight::Pass {
            return Some(CorsDecision::Anonymous);
        }
        let Some(allowed) = self.allowed(origin) else {
            return Some(CorsDecision::Refused);
        };
        let mut fields = self.told(Some(allowed));
        let wished = only(request, "access-control-request-headers");
        let mut add = |name, value: Option<String>| fields.extend(value.map(|value| (name, value)));
        add("Access-Control-Allow-Methods", self.methods.told(method));
        let headers = self.headers.told(wished.unwrap_or_default());
        add("Access-Control-Allow-Headers", headers);
        add("Access-Control-Max-Age", Some(self.max_age.clone()));
        let both = "Access-Control-Request-Method, Access-Control-Request-Headers";
        add("Vary", Some(both.into()));
        Some(CorsDecision::Answered(CorsHeaders {
            fields,
            replaces: false,
        }))
    }

    /// The CORS fields of the answer to this request. Those that the backend sets are not changed;
    /// answers that gate makes itself have the fields of gate.
    pub(crate) fn grant(&self, request: &Request<'_>) -> Option<Rc<CorsHeaders>> {
        let speaks = !self.origins.is_empty() || self.any;
        if self.preflight == Preflight::Off || !speaks {
            return None;
        }
        let origin = only(request, "origin");
        let fields = self.told(origin.and_then(|origin| self.allowed(origin)));
        Some(Rc::new(CorsHeaders {
            fields,
            replaces: self.preflight == Preflight::Answer,
        }))
    }

    fn told(&self, allowed: Option<&str>) -> Vec<(&'static str, String)> {
        let mut fields = Vec::new();
        if let Some(allowed) = allowed {
            fields.push(("Access-Control-Allow-Origin", allowed.to_owned()));
            if self.credentials {
                fields.push(("Access-Control-Allow-Credentials", "true".into()));
            }
            if !self.expose.is_empty() {
                fields.push(("Access-Control-Expose-Headers", self.expose.clone()));
            }
        }
        if !self.any {
            // Caches have to keep answers to different origins apart.
            fields.push(("Vary", "Origin".into()));
        }
        fields
    }

    /// The origin as the browser expects it.
    fn allowed(&self, origin: &[u8]) -> Option<&str> {
        if self.any {
            return Some(ANY);
        }
        let is = |listed: &&String| listed.as_bytes().eq_ignore_ascii_case(origin);
        self.origins.iter().find(is).map(String::as_str)
    }

    /// Whether an unknown page requests something for which a cookie must not suffice: an upgrade,
    /// or a change on a route that has a list of origins. `own` is the request's own origin.
    fn is_foreign(
        &self,
        request: &Request<'_>,
        upgrade: bool,
        own: &OwnOrigin<'_>,
        by_cookie: impl FnOnce() -> bool,
    ) -> bool {
        let safe = matches!(request.method, "GET" | "HEAD" | "OPTIONS") && !overridden(request);
        if !upgrade && (safe || self.origins.is_empty()) {
            return false;
        }
        let known = |origin: &[u8]| own.is(origin) || (!self.any && self.allowed(origin).is_some());
        !values(request, "origin").all(known) && by_cookie()
    }
}

/// The origin that a request is for.
pub(crate) struct OwnOrigin<'a> {
    pub(crate) secure: bool,
    pub(crate) host: Authority<'a>,
}

impl<'a> OwnOrigin<'a> {
    /// `trusted_fields`: the fields that a trusted proxy in front of gate sets.
    pub(crate) fn new(
        request: &Request<'a>,
        inspected: &Inspected<'a>,
        secure: bool,
        trusted_fields: &[String],
    ) -> Self {
        let said = |name| only(request, name).filter(|_| trusted_fields.iter().any(|f| f == name));
        let scheme = said("x-forwarded-proto");
        let host = said("x-forwarded-host").and_then(|host| std::str::from_utf8(host).ok());
        Self {
            secure: scheme.map_or(secure, |scheme| scheme.eq_ignore_ascii_case(b"https")),
            host: host.and_then(Authority::parse).unwrap_or(inspected.host),
        }
    }

    /// The origin as browsers write it. RFC 6454 §6.2.
    pub(crate) fn written(&self) -> String {
        let mut written = if self.secure { "https://" } else { "http://" }
            .as_bytes()
            .to_vec();
        self.host.write(&mut written);
        String::from_utf8(written).unwrap_or_default()
    }

    /// Compares origins (RFC 6454 §5). If TLS ends before gate, and no trusted proxy says so, a
    /// page that came over TLS may have the same origin. The reverse does not hold: anybody on the
    /// path can write a page that comes without TLS.
    pub(crate) fn is(&self, origin: &[u8]) -> bool {
        let Some((secure, authority)) = parsed(origin) else {
            return false;
        };
        let ports = |default| (authority.port(default), self.host.port(default));
        let (theirs, own) = match (secure, self.secure) {
            (true, true) => ports("443"),
            (false, false) => ports("80"),
            (true, false) => ports(""),
            (false, true) => return false,
        };
        authority.is_same_host(&self.host) && theirs == own
    }
}

fn parsed(origin: &[u8]) -> Option<(bool, Authority<'_>)> {
    let (scheme, rest) = std::str::from_utf8(origin).ok()?.split_once("://")?;
    let secure = match scheme {
        "https" => true,
        "http" => false,
        _ => return None,
    };
    Some((secure, Authority::parse(rest)?))
}

/// Whether this is an origin as browsers write it: lower case, no default port, no path. Apps may
/// have their own schemes.
fn is_origin(text: &str) -> bool {
    if text.contains(ANY) {
        return false;
    }
    let Ok(url) = url::Url::parse(text) else {
        return false;
    };
    let written = url.origin().ascii_serialization();
    let of_an_app = !matches!(url.scheme(), "http" | "https")
        && text.split_once("://").is_some_and(|(_, host)| {
            !host.is_empty() && host.bytes().all(|b| b.is_ascii_graphic() && b != b'/')
        });
    written == text || of_an_app
}

impl AllowedNames {
    fn new(key: &'static str, names: &[String]) -> Result<Self, CorsError> {
        let any = names.iter().any(|name| name == ANY);
        if any && names.len() > 1 {
            let why = "'*' must be the only entry".into();
            return Err(CorsError { key, why });
        }
        if let Some(wrong) = names.iter().find(|name| !is_token(name.as_bytes())) {
            let why = format!("'{wrong}' is not a name");
            return Err(CorsError { key, why });
        }
        Ok(Self {
            listed: names.join(", "),
            any,
        })
    }

    /// The allowed names, for the answer. With credentials, `*` does not mean all (Fetch §3.2.3),
    /// so the requested names are repeated.
    fn told(&self, wished: &[u8]) -> Option<String> {
        let listed = if self.any {
            let mut names = wished.split(|b| *b == b',').map(<[u8]>::trim_ascii);
            let sound = wished.len() <= MAX_REQUEST_HEADERS && names.all(is_token);
            let text = std::str::from_utf8(wished).ok().filter(|_| sound);
            text.unwrap_or_default().to_owned()
        } else {
            self.listed.clone()
        };
        (!listed.is_empty()).then_some(listed)
    }
}

impl CorsHeaders {
    pub(crate) fn fields(&self) -> impl Iterator<Item = Field<'_>> {
        self.fields.iter().map(|(name, value)| Field {
            name,
            value: value.as_bytes(),
        })
    }

    /// Whether a field of the backend's answer is passed on.
    pub(crate) fn passes(&self, name: &str) -> bool {
        const START: &str = "access-control-";
        let start = name.get(..START.len());
        !(self.replaces && start.is_some_and(|start| start.eq_ignore_ascii_case(START)))
    }
}

fn overridden(request: &Request<'_>) -> bool {
    request.fields.iter().any(|f| overrides_method(f.name))
}

fn values<'a>(request: &Request<'a>, name: &'static str) -> impl Iterator<Item = &'a [u8]> {
    request.values(name).map(<[u8]>::trim_ascii)
}

/// The field's value, if there is exactly one.
fn only<'a>(request: &Request<'a>, name: &'static str) -> Option<&'a [u8]> {
    let mut values = values(request, name);
    let value = values.next()?;
    values.next().is_none().then_some(value)
}

#[cfg(test)]
mod tests;
