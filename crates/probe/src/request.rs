//! The request that the options describe, and the headers for a proxy.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use roundtrip_http::Request;
use roundtrip_model::{Scheme, Target};
use roundtrip_wire::percent;

use crate::Options;

impl Options {
    /// The first request for a target; redirects may lead to others.
    pub(crate) fn request(&self, target: &Target) -> Request {
        let given = |name: &str| {
            self.headers
                .iter()
                .any(|(n, _)| n.eq_ignore_ascii_case(name))
        };
        let mut headers = Vec::new();
        let mut add = |name: &str, value: String| {
            if !given(name) {
                headers.push((name.to_owned(), value));
            }
        };
        let user = self
            .user
            .clone()
            .or_else(|| target.userinfo().map(|(u, p)| (decoded(u), decoded(p))));
        if let Some((user, password)) = user {
            add("Authorization", basic(&user, &password));
        }
        add("User-Agent", self.user_agent.clone());
        add("Accept", "*/*".into());
        if self.compressed {
            add("Accept-Encoding", "deflate, gzip, br".into());
        }
        if !self.body.is_empty() {
            add("Content-Type", "application/x-www-form-urlencoded".into());
        }
        // `-H 'Accept:'` removes a header, as with curl; a header to be sent empty arrives as a
        // space.
        let sent = self.headers.iter().filter(|(_, v)| !v.is_empty());
        headers.extend(sent.map(|(n, v)| (n.clone(), v.trim().to_owned())));
        let default = if self.body.is_empty() { "GET" } else { "POST" };
        headers.extend(self.proxy_fields(target));
        Request {
            method: self.method.clone().unwrap_or_else(|| default.into()),
            target: target.clone(),
            headers,
            body: self.body.clone(),
            absolute_form: self.is_for_proxy(target),
        }
    }

    /// Whether a proxy itself gets the request, and not the server through a tunnel.
    pub(crate) fn is_for_proxy(&self, target: &Target) -> bool {
        self.proxy_for(target).is_some() && target.scheme == Scheme::Http
    }

    /// The fields of a request that are for the proxy that gets it.
    pub(crate) fn proxy_fields(&self, target: &Target) -> Vec<(String, String)> {
        let mut fields = self.proxy_headers(target);
        fields.retain(|(name, _)| name.starts_with("Proxy-") && self.is_for_proxy(target));
        fields
    }

    /// Headers for the proxy alone; no server behind it sees them.
    pub(crate) fn proxy_headers(&self, target: &Target) -> Vec<(String, String)> {
        let mut headers = vec![("User-Agent".to_owned(), self.user_agent.clone())];
        if let Some((user, password)) = self.proxy_for(target).and_then(|p| p.0.userinfo()) {
            let token = basic(&decoded(user), &decoded(password));
            headers.push(("Proxy-Authorization".into(), token));
        }
        headers
    }

    /// All headers of CONNECT.
    pub(crate) fn tunnel_headers(&self, target: &Target) -> Vec<(String, String)> {
        let given = |name: &str| {
            let mut names = self.connect_headers.iter();
            names.any(|(given, _)| given.eq_ignore_ascii_case(name))
        };
        let mut headers = self.proxy_headers(target);
        headers.retain(|(name, _)| !given(name));
        headers.extend(self.connect_headers.iter().cloned());
        headers
    }
}

/// RFC 7617 §2.
fn basic(user: &str, password: &str) -> String {
    format!(
        "Basic {}",
        BASE64_STANDARD.encode(format!("{user}:{password}"))
    )
}

/// Percent-decodes a URL's user and password; text that does not decode stays as it is.
fn decoded(text: &str) -> String {
    let bytes: Vec<u8> = percent::decode(text).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_is_not_a_digit() {
        assert_eq!(decoded("a%+fb%20%"), "a%+fb %");
    }
}
