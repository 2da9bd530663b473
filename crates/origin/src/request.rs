//! A request as the routes see it, whichever protocol carried it.

use http::request::Parts;
use http::{HeaderMap, Method, Uri, Version};

#[derive(Debug)]
pub(crate) struct OriginRequest {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) version: Version,
    pub(crate) headers: HeaderMap,
    /// Whether the request arrived over TLS or QUIC.
    pub(crate) secure: bool,
    /// Whether the request arrived as early data, which may be a replay (RFC 8470).
    pub(crate) early: bool,
}

impl OriginRequest {
    pub(crate) fn new(parts: Parts, secure: bool, early: bool) -> Self {
        Self {
            method: parts.method,
            uri: parts.uri,
            version: parts.version,
            headers: parts.headers,
            secure,
            early,
        }
    }

    pub(crate) fn path(&self) -> &str {
        self.uri.path()
    }

    /// A number in the query: `bytes` in `?bytes=100&every=5`. The first one counts.
    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.pairs()
            .find(|(key, _)| *key == name)
            .and_then(|(_, value)| value.parse().ok())
    }

    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        let query = self.uri.query().unwrap_or_default();
        query.split('&').filter_map(|pair| pair.split_once('='))
    }

    pub(crate) fn header(&self, name: http::HeaderName) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The requested host, without its port: from the URI (HTTP/2, HTTP/3) or from Host.
    pub(crate) fn host(&self) -> Option<&str> {
        let authority = match self.uri.authority() {
            Some(authority) => authority.as_str(),
            None => self.header(http::header::HOST)?,
        };
        match authority.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => Some(host),
            _ => Some(authority),
        }
    }

    /// Whether the client accepts the content coding `coding`, with a weight other than 0 (RFC
    /// 9110, section 12.5.3).
    pub(crate) fn accepts_coding(&self, coding: &str) -> bool {
        let listed = self.header(http::header::ACCEPT_ENCODING).unwrap_or("");
        listed.split(',').any(|item| {
            let (name, weight) = item.split_once(';').unwrap_or((item, ""));
            let weight = weight.trim().strip_prefix("q=").unwrap_or("1");
            name.trim().eq_ignore_ascii_case(coding)
                && weight.trim().parse().is_ok_and(|q: f32| q > 0.0)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(builder: http::request::Builder) -> OriginRequest {
        OriginRequest::new(builder.body(()).unwrap().into_parts().0, false, false)
    }

    #[test]
    fn queries_and_hosts_are_read() {
        let asked = request(
            http::Request::get("/drip?bytes=100&every=5&bad").header("host", "example.com:8080"),
        );
        assert_eq!(asked.number("bytes"), Some(100));
        assert_eq!(asked.number("bad"), None);
        assert_eq!(asked.host(), Some("example.com"));
        assert_eq!(
            request(http::Request::get("https://[::1]:443/")).host(),
            Some("[::1]")
        );
        assert_eq!(
            request(http::Request::get("https://[::1]/")).host(),
            Some("[::1]")
        );
        assert_eq!(request(http::Request::get("/")).host(), None);
    }

    #[test]
    fn a_coding_of_weight_zero_is_refused() {
        let accepts = |value: &str| {
            request(http::Request::get("/").header("accept-encoding", value)).accepts_coding("gzip")
        };
        assert!(accepts("gzip"));
        assert!(accepts("br;q=1.0, GZip;q=0.5"));
        assert!(!accepts("gzip;q=0"));
        assert!(!accepts("deflate"));
        assert!(!accepts("gzip;q=much"));
    }
}
