//! A request, the same for every version.

use std::fmt::Write as _;

use bytes::Bytes;
use roundtrip_model::{Target, excerpt};

use crate::HttpError;

#[derive(Debug, Clone)]
pub struct Request {
    pub method: String,
    pub target: Target,
    /// The headers, in the order in which they are sent after `Host`. A `Host` among them replaces
    /// ours.
    pub headers: Vec<(String, String)>,
    pub body: Bytes,
    /// Whether the request line contains the whole URL, as a clear-text proxy requires. RFC 9112
    /// §3.2.2.
    pub absolute_form: bool,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(n, _)| n.eq_ignore_ascii_case(name))
            .map(|(_, v)| v.as_str())
    }

    pub(crate) fn host(&self) -> String {
        self.header("host")
            .map_or_else(|| self.target.authority(), str::to_owned)
    }

    /// Does the client wait for `100 Continue` before it sends the body? RFC 9110 §10.1.1.
    pub(crate) fn expects_continue(&self) -> bool {
        !self.body.is_empty()
            && self
                .header("expect")
                .is_some_and(|v| v.eq_ignore_ascii_case("100-continue"))
    }

    /// The head as HTTP/1.1 sends it. RFC 9112 §3.
    pub(crate) fn head(&self) -> Result<String, HttpError> {
        self.check()?;
        let mut head = String::with_capacity(256);
        let target = if self.absolute_form {
            format!(
                "{}://{}{}",
                self.target.scheme.as_str(),
                self.target.authority(),
                self.target.path_and_query()
            )
        } else {
            self.target.path_and_query().to_owned()
        };
        // Writing to a String cannot fail.
        let _ = write!(
            head,
            "{} {target} HTTP/1.1\r\nHost: {}\r\n",
            self.method,
            self.host()
        );
        for (name, value) in self
            .headers
            .iter()
            .filter(|(n, _)| !n.eq_ignore_ascii_case("host"))
        {
            let space = if value.is_empty() { "" } else { " " };
            let _ = write!(head, "{name}:{space}{value}\r\n");
        }
        if self.needs_length() {
            let _ = write!(head, "Content-Length: {}\r\n", self.body.len());
        }
        head.push_str("\r\n");
        Ok(head)
    }

    /// The size of a head that is not sent as text, which is the size of the equivalent text in
    /// curl.
    pub(crate) fn modern_size(&self) -> Result<u64, HttpError> {
        let shorter = "HTTP/1.1".len() - "HTTP/2".len();
        Ok((self.head()?.len() - shorter) as u64)
    }

    /// A body, or a method that is expected to have one, states its length. RFC 9110 §8.6.
    fn needs_length(&self) -> bool {
        self.header("content-length").is_none()
            && (!self.body.is_empty() || matches!(self.method.as_str(), "POST" | "PUT" | "PATCH"))
    }

    /// The request for HTTP/2 and 3, with names in lower case and without fields that belong to one
    /// hop. RFC 9113 §8.2.
    pub(crate) fn modern(&self) -> Result<::http::Request<()>, HttpError> {
        self.check()?;
        let uri = ::http::Uri::builder()
            .scheme(self.target.scheme.as_str())
            .authority(self.host())
            .path_and_query(self.target.path_and_query())
            .build()
            .map_err(|_| HttpError::Unsendable(self.target.redacted()))?;
        let mut builder = ::http::Request::builder()
            .method(self.method.as_str())
            .uri(uri);
        for (name, value) in &self.headers {
            let name = name.to_ascii_lowercase();
            if !matches!(
                name.as_str(),
                "host"
                    | "connection"
                    | "keep-alive"
                    | "proxy-connection"
                    | "transfer-encoding"
                    | "upgrade"
            ) {
                builder = builder.header(name, value.as_str());
            }
        }
        if self.needs_length() {
            builder = builder.header("content-length", self.body.len());
        }
        builder
            .body(())
            .map_err(|_| HttpError::Unsendable("a header".into()))
    }

    fn check(&self) -> Result<(), HttpError> {
        check_sendable(&self.method, &self.headers)
    }
}

fn shown(what: &str, text: &str) -> String {
    format!("the {what} '{}'", excerpt(text, 40))
}

/// Refuses characters that would let a flag or a URL start another header or another request.
pub fn check_sendable(method: &str, headers: &[(String, String)]) -> Result<(), HttpError> {
    let token = |s: &str| !s.is_empty() && s.bytes().all(is_token);
    if !token(method) {
        return Err(HttpError::Unsendable(shown("method", method)));
    }
    for (name, value) in headers {
        if !token(name) || value.bytes().any(|b| matches!(b, 0 | b'\r' | b'\n')) {
            return Err(HttpError::Unsendable(shown("header", name)));
        }
    }
    Ok(())
}

/// RFC 9110 §5.6.2.
fn is_token(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(headers: &[(&str, &str)]) -> Request {
        Request {
            method: "GET".into(),
            target: Target::parse("http://example.com:81/a?b").unwrap(),
            headers: headers
                .iter()
                .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()))
                .collect(),
            body: Bytes::new(),
            absolute_form: false,
        }
    }

    #[test]
    fn the_head_is_what_was_asked() {
        let head = request(&[("Accept", "*/*"), ("host", "other")])
            .head()
            .unwrap();
        assert_eq!(
            head,
            "GET /a?b HTTP/1.1\r\nHost: other\r\nAccept: */*\r\n\r\n"
        );
        let mut post = request(&[]);
        post.method = "POST".into();
        assert!(post.head().unwrap().contains("Content-Length: 0\r\n"));
    }

    #[test]
    fn nothing_is_smuggled() {
        assert!(request(&[("X", "a\r\nEvil: 1")]).head().is_err());
        assert!(request(&[("X: a\r\nEvil", "1")]).head().is_err());
        let mut request = request(&[]);
        request.method = "GET / HTTP/1.1\r\n".into();
        assert!(request.head().is_err() && request.modern().is_err());
    }
}
