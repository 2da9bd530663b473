//! The cookies that answers set, for the requests that follow in the same run. RFC 6265.

use std::time::{SystemTime, UNIX_EPOCH};

use roundtrip_http::Request;
use roundtrip_model::{HttpFacts, Scheme, Target};
use roundtrip_wire::http_date;

/// The largest number of cookies that are kept, and the largest size of one, in bytes.
const MAX_COOKIES: usize = 64;
const MAX_COOKIE: usize = 4096;

#[derive(Default)]
pub(super) struct Cookies(Vec<Cookie>);

struct Cookie {
    name: String,
    value: String,
    /// The host that set the cookie, or the domain that it named.
    domain: String,
    /// Whether the cookie is for this host alone.
    is_host_only: bool,
    path: String,
    is_secure: bool,
}

impl Cookies {
    /// Returns the request with the cookies that belong to it, or `None` if there are none.
    pub(super) fn added_to(&self, request: &Request) -> Option<Request> {
        let fitting = self.0.iter().filter(|cookie| cookie.fits(&request.target));
        let pairs: Vec<String> = fitting
            .map(|cookie| format!("{}={}", cookie.name, cookie.value))
            .collect();
        if pairs.is_empty() {
            return None;
        }
        let mut request = request.clone();
        let mut given = Vec::new();
        request.headers.retain(|(name, value)| {
            let is_cookie = name.eq_ignore_ascii_case("cookie");
            if is_cookie {
                given.push(value.clone());
            }
            !is_cookie
        });
        given.extend(pairs);
        request.headers.push(("Cookie".into(), given.join("; ")));
        Some(request)
    }

    /// Keeps the cookies that an answer sets.
    pub(super) fn receive(&mut self, target: &Target, answer: &HttpFacts) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0, |now| now.as_secs());
        let fields = answer.headers.iter();
        let fields = fields.filter(|(name, _)| name.eq_ignore_ascii_case("set-cookie"));
        for (_, value) in fields {
            let Some((cookie, is_over)) = Cookie::parse(value, target, now) else {
                continue;
            };
            self.0.retain(|known| !known.is_replaced_by(&cookie));
            if !is_over && self.0.len() < MAX_COOKIES {
                self.0.push(cookie);
            }
        }
    }
}

impl Cookie {
    /// The cookie of a field, and whether it has expired. RFC 6265 §5.2, §5.3.
    fn parse(value: &[u8], target: &Target, now: u64) -> Option<(Self, bool)> {
        let text = std::str::from_utf8(value).ok()?;
        if text.len() > MAX_COOKIE || text.contains(|c: char| c.is_control()) {
            return None;
        }
        let mut parts = text.split(';');
        let (name, value) = parts.next()?.split_once('=')?;
        let host = target.host_name().to_ascii_lowercase();
        let mut cookie = Self {
            name: name.trim().to_owned(),
            value: value.trim().to_owned(),
            domain: host.clone(),
            is_host_only: true,
            path: default_path(target.url().path()),
            is_secure: false,
        };
        let (mut by_date, mut by_age) = (false, None);
        for part in parts {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let value = value.trim();
            match name.trim().to_ascii_lowercase().as_str() {
                "domain" if !value.is_empty() => {
                    cookie.domain = value.trim_start_matches('.').to_ascii_lowercase();
                    cookie.is_host_only = false;
                }
                "path" if value.starts_with('/') => value.clone_into(&mut cookie.path),
                "secure" => cookie.is_secure = true,
                "expires" => {
                    let end = http_date::parse(value.as_bytes(), now);
                    by_date = end.is_some_and(|end| end <= now);
                }
                "max-age" => by_age = value.parse::<i64>().ok().map(|age| age <= 0),
                _ => {}
            }
        }
        if cookie.domain == host {
            // A host without a dot, and an address, have no subdomains.
            cookie.is_host_only |= !host.contains('.') || host.parse::<std::net::IpAddr>().is_ok();
        }
        let is_allowed = cookie.domain == host
            || (cookie.domain.contains('.') && is_below(&host, &cookie.domain));
        (!cookie.name.is_empty() && is_allowed).then_some((cookie, by_age.unwrap_or(by_date)))
    }

    /// RFC 6265 §5.4.
    fn fits(&self, target: &Target) -> bool {
        let host = target.host_name().to_ascii_lowercase();
        let fits_host =
            host == self.domain || (!self.is_host_only && is_below(&host, &self.domain));
        fits_host
            && is_within(target.url().path(), &self.path)
            && (!self.is_secure || target.scheme == Scheme::Https)
    }

    fn is_replaced_by(&self, other: &Self) -> bool {
        (&self.name, &self.domain, &self.path) == (&other.name, &other.domain, &other.path)
    }
}

fn is_below(host: &str, domain: &str) -> bool {
    let before = host.strip_suffix(domain);
    before.is_some_and(|before| before.ends_with('.')) && host.parse::<std::net::IpAddr>().is_err()
}

/// The path up to its last slash. RFC 6265 §5.1.4.
fn default_path(path: &str) -> String {
    match path.rfind('/') {
        Some(end) if end > 0 => path.get(..end).unwrap_or("/").to_owned(),
        _ => "/".to_owned(),
    }
}

fn is_within(path: &str, outer: &str) -> bool {
    let rest = path.strip_prefix(outer);
    rest.is_some_and(|rest| rest.is_empty() || outer.ends_with('/') || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(url: &str) -> Target {
        Target::parse(url).unwrap()
    }

    /// The value of `Cookie` for `to`, after `from` has set these cookies.
    fn sent(from: &str, set: &[&str], to: &str) -> String {
        let mut cookies = Cookies::default();
        for value in set {
            let answer = HttpFacts {
                headers: vec![("Set-Cookie".into(), value.as_bytes().to_vec())],
                ..HttpFacts::default()
            };
            cookies.receive(&target(from), &answer);
        }
        let request = Request {
            method: "GET".into(),
            target: target(to),
            headers: Vec::new(),
            body: bytes::Bytes::new(),
            absolute_form: false,
        };
        let with = cookies.added_to(&request);
        with.map_or_else(String::new, |with| with.headers[0].1.clone())
    }

    #[test]
    fn cookies_go_where_rfc_6265_sends_them() {
        let from = "https://a.example.com/x/y";
        for (set, to, expected) in [
            ("s=1", "https://a.example.com/x/z", "s=1"),
            ("s=1; Path=/", "https://a.example.com/", "s=1"),
            ("s=1", "https://a.example.com/xy", ""),
            ("s=1; Path=/", "https://b.example.com/", ""),
            (
                "s=1; Path=/; Domain=.Example.com",
                "https://b.example.com/",
                "s=1",
            ),
            ("s=1; Path=/; Domain=com", "https://a.example.com/", ""),
            (
                "s=1; Path=/; Domain=other.example",
                "https://a.example.com/",
                "",
            ),
            ("s=1; Path=/; Secure", "http://a.example.com/", ""),
            ("s=1; Path=/; Max-Age=0", "https://a.example.com/", ""),
            (
                "s=1; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
                "https://a.example.com/",
                "",
            ),
            ("=1; Path=/", "https://a.example.com/", ""),
            ("s; Path=/", "https://a.example.com/", ""),
        ] {
            assert_eq!(sent(from, &[set], to), expected, "{set} {to}");
        }
    }

    #[test]
    fn a_cookie_replaces_the_one_before() {
        let from = "http://127.0.0.1:8080/";
        let set = ["s=1; Path=/", "t=2; Path=/", "s=3; Path=/"];
        assert_eq!(sent(from, &set, "http://127.0.0.1:9090/a"), "t=2; s=3");
        let gone = ["s=1; Path=/", "s=; Path=/; Max-Age=-1"];
        assert_eq!(sent(from, &gone, from), "");
    }
}
