//! How a route changes a request's fields: `set`, `remove`, and `keep` for those of
//! [`identity`](super::identity) that would be removed otherwise.

use std::net::IpAddr;

use super::Inspected;
use super::compose::scheme;
use super::fields::is_token;
use super::identity::is_read_as;
use crate::config::Route;

/// Fields that only gate may set; otherwise the backend could mistake where a request ends or whose
/// it is.
const RESERVED: [&str; 18] = [
    "authorization",
    "connection",
    "content-length",
    "early-data",
    "expect",
    "host",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "x-forwarded-for",
    "x-forwarded-proto",
    "x-request-id",
    "via",
];

/// Names are in lower case.
#[derive(Debug, Default)]
pub(crate) struct Rewrite {
    keep: Vec<String>,
    remove: Vec<String>,
    set: Vec<(String, Vec<ValuePart>)>,
}

/// A part of a value.
#[derive(Debug, PartialEq, Eq)]
enum ValuePart {
    Text(String),
    Client,
    Host,
    Scheme,
}

/// An error in the changes, and the key that has it.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {why}")]
pub(crate) struct RewriteError {
    pub(crate) key: &'static str,
    pub(crate) why: String,
}

impl Rewrite {
    pub(crate) fn new(route: &Route) -> Result<Self, RewriteError> {
        let names = |key, list: &[String]| {
            let names = list.iter().map(|name| known(key, name));
            names.collect::<Result<Vec<_>, _>>()
        };
        let set = route.set.iter().map(|(name, value)| {
            let name = known("set", name)?;
            let value = parts(value).map_err(|why| RewriteError { key: "set", why })?;
            Ok((name, value))
        });
        let rewrite = Self {
            keep: names("keep", &route.keep)?,
            remove: names("remove", &route.remove)?,
            set: set.collect::<Result<_, _>>()?,
        };
        rewrite.is_consistent().map(|()| rewrite)
    }

    /// Checks that each field is in only one list, and only once.
    fn is_consistent(&self) -> Result<(), RewriteError> {
        let set = self.set.iter().map(|(name, _)| ("set", name));
        let remove = self.remove.iter().map(|name| ("remove", name));
        let keep = self.keep.iter().map(|name| ("keep", name));
        let all: Vec<_> = set.chain(remove).chain(keep).collect();
        for (n, (key, name)) in all.iter().enumerate() {
            let earlier = all.iter().take(n);
            if let Some((other, same)) = earlier.rev().find(|(_, other)| is_read_as(name, other)) {
                let why = format!(
                    "'{name}' and '{same}' in '{other}' are the same field to many servers"
                );
                return Err(RewriteError { key, why });
            }
        }
        Ok(())
    }

    pub(crate) fn keeps(&self, name: &str) -> bool {
        self.keep.iter().any(|kept| kept.eq_ignore_ascii_case(name))
    }

    /// Whether the client's own field of this name is removed.
    pub(crate) fn removes(&self, name: &str) -> bool {
        let set = self.set.iter().map(|(name, _)| name);
        self.remove
            .iter()
            .chain(set)
            .any(|gone| is_read_as(name, gone))
    }

    /// The names of the fields that are removed and not set again.
    pub(crate) fn removed(&self) -> impl Iterator<Item = &str> {
        self.remove.iter().map(String::as_str)
    }

    /// The fields that are set, as lines of a head. `client` and `secure` say who sent the request,
    /// and how.
    pub(crate) fn write(
        &self,
        inspected: &Inspected<'_>,
        client: IpAddr,
        secure: bool,
        out: &mut Vec<u8>,
    ) {
        use std::io::Write;
        for (name, value) in &self.set {
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(b": ");
            for part in value {
                match part {
                    ValuePart::Text(text) => out.extend_from_slice(text.as_bytes()),
                    // Writing to a Vec does not fail.
                    ValuePart::Client => drop(write!(out, "{client}")),
                    ValuePart::Host => inspected.host.write(out),
                    ValuePart::Scheme => out.extend_from_slice(scheme(secure)),
                }
            }
            out.extend_from_slice(b"\r\n");
        }
    }
}

fn known(key: &'static str, name: &str) -> Result<String, RewriteError> {
    let lower = name.to_ascii_lowercase();
    let why = if !is_token(name.as_bytes()) {
        format!("'{name}' is not a field's name")
    } else if RESERVED.iter().any(|reserved| is_read_as(&lower, reserved)) {
        format!("'{name}' is set by gate itself")
    } else {
        return Ok(lower);
    };
    Err(RewriteError { key, why })
}

/// Parses a text that contains `{client}`, `{host}` and `{scheme}`.
fn parts(value: &str) -> Result<Vec<ValuePart>, String> {
    if value.bytes().any(|byte| byte.is_ascii_control()) || value.trim() != value {
        return Err(format!("{value:?} cannot be a field's value"));
    }
    let mut parts = Vec::new();
    let mut rest = value;
    while let Some((text, after)) = rest.split_once('{') {
        let (name, after) = after
            .split_once('}')
            .ok_or_else(|| format!("'{{' without '}}' in {value:?}"))?;
        if !text.is_empty() {
            parts.push(ValuePart::Text(text.to_owned()));
        }
        parts.push(match name {
            "client" => ValuePart::Client,
            "host" => ValuePart::Host,
            "scheme" => ValuePart::Scheme,
            _ => {
                return Err(format!(
                    "the placeholders are {{client}}, {{host}} and {{scheme}}, not {{{name}}}"
                ));
            }
        });
        rest = after;
    }
    if !rest.is_empty() {
        parts.push(ValuePart::Text(rest.to_owned()));
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(set: &[(&str, &str)], remove: &[&str]) -> Route {
        Route {
            set: set
                .iter()
                .map(|(n, v)| ((*n).into(), (*v).into()))
                .collect(),
            remove: remove.iter().map(|name| (*name).into()).collect(),
            ..Route::default()
        }
    }

    #[test]
    fn values_have_parts() {
        let text = |text: &str| ValuePart::Text(text.into());
        assert_eq!(parts("a b").unwrap(), [text("a b")]);
        assert_eq!(
            parts("{scheme}://{host}/").unwrap(),
            [ValuePart::Scheme, text("://"), ValuePart::Host, text("/")]
        );
        assert_eq!(parts("").unwrap(), []);
        for bad in ["{x}", "{client", "a\r\nb: c", " a"] {
            assert!(parts(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn each_field_is_named_once() {
        let named = |set: &[(&str, &str)], remove: &[&str], keep: &[&str]| {
            let mut route = route(set, remove);
            route.keep = keep.iter().map(|name| (*name).into()).collect();
            Rewrite::new(&route).map(drop).map_err(|error| error.key)
        };
        assert_eq!(named(&[("X-A", "1"), ("x_a", "2")], &[], &[]), Err("set"));
        assert_eq!(named(&[], &["X-A", "X-a"], &[]), Err("remove"));
        assert_eq!(named(&[("X-A", "1")], &["X-A"], &[]), Err("remove"));
        assert_eq!(named(&[], &["X-A"], &["x-a"]), Err("keep"));
        assert_eq!(named(&[("X-A", "1")], &["X-B"], &["X-C"]), Ok(()));
    }

    #[test]
    fn what_frames_a_request_is_not_to_be_set() {
        for name in [
            "Content_Length",
            "Host",
            "a b",
            "",
            "Authorization",
            "transfer-encoding",
        ] {
            assert!(Rewrite::new(&route(&[(name, "x")], &[])).is_err(), "{name}");
            assert!(Rewrite::new(&route(&[], &[name])).is_err(), "{name}");
        }
        let sound = Rewrite::new(&route(&[("X-Real-IP", "{client}")], &["Cookie"])).unwrap();
        assert!(sound.removes("COOKIE") && sound.removes("x_real_ip") && !sound.removes("accept"));
    }
}
