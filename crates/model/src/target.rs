//! The part of a URL that decides which peer receives which request.

use std::fmt;

use url::{Host, Url};

use crate::{Origin, Scheme, excerpt, mask_parameters, mask_url};

/// A URL that can be requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub scheme: Scheme,
    pub host: Host,
    pub port: u16,
    url: Url,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    #[error("'{given}' is not a URL: {source}")]
    Malformed {
        given: String,
        source: url::ParseError,
    },
    #[error("'{given}' uses the scheme '{scheme}'; http, https and tcp are supported")]
    Scheme { given: String, scheme: String },
    #[error("'{given}' is not a URL for HTTP: http and https are followed")]
    NotHttp { given: String },
    #[error("'{given}' has no host")]
    NoHost { given: String },
    #[error("'{given}' needs a port, as in tcp://host:port")]
    NoPort { given: String },
    #[error("a URL of {length} bytes is longer than the {limit} that are accepted")]
    TooLong { length: usize, limit: usize },
}

const MAX_URL: usize = 64 * 1024;

impl Target {
    /// Parses a URL as a person types it: as with curl, a missing scheme means `http://`.
    pub fn parse(given: &str) -> Result<Self, TargetError> {
        if given.len() > MAX_URL {
            return Err(TargetError::TooLong {
                length: given.len(),
                limit: MAX_URL,
            });
        }
        let text = if given.contains("://") {
            given.to_owned()
        } else {
            format!("http://{given}")
        };
        let url = Url::parse(&text).map_err(|source| TargetError::Malformed {
            given: shown(given),
            source,
        })?;
        Self::from_url(url, given)
    }

    /// Resolves `reference` (a `Location` header) against this target. RFC 3986 §5, RFC 9110
    /// §10.2.2.
    pub fn join(&self, reference: &str) -> Result<Self, TargetError> {
        if reference.len() > MAX_URL {
            return Err(TargetError::TooLong {
                length: reference.len(),
                limit: MAX_URL,
            });
        }
        let mut url = self
            .url
            .join(reference)
            .map_err(|source| TargetError::Malformed {
                given: shown(reference),
                source,
            })?;
        if url.fragment().is_none() {
            url.set_fragment(self.url.fragment());
        }
        let target = Self::from_url(url, reference)?;
        if target.scheme == Scheme::Tcp {
            return Err(TargetError::NotHttp {
                given: shown(reference),
            });
        }
        Ok(target)
    }

    fn from_url(mut url: Url, given: &str) -> Result<Self, TargetError> {
        let scheme = match url.scheme() {
            "http" => Scheme::Http,
            "https" => Scheme::Https,
            "tcp" => Scheme::Tcp,
            other => {
                return Err(TargetError::Scheme {
                    given: shown(given),
                    scheme: excerpt(other, 80),
                });
            }
        };
        let no_host = || TargetError::NoHost {
            given: shown(given),
        };
        // URL parsers leave hosts of unknown schemes (tcp) unparsed, so addresses are parsed here.
        let host = match url.host().ok_or_else(no_host)? {
            Host::Domain(name) if scheme == Scheme::Tcp => {
                Host::parse(name).map_err(|source| TargetError::Malformed {
                    given: shown(given),
                    source,
                })?
            }
            host => host.to_owned(),
        };
        if matches!(&host, Host::Domain(name) if name.is_empty()) {
            return Err(no_host());
        }
        let port = url
            .port()
            .or(scheme.default_port())
            .ok_or_else(|| TargetError::NoPort {
                given: shown(given),
            })?;
        if url.path().is_empty() {
            url.set_path("/");
        }
        Ok(Self {
            scheme,
            host,
            port,
            url,
        })
    }

    /// The host in the form for name servers and certificates, without brackets.
    pub fn host_name(&self) -> String {
        match &self.host {
            Host::Domain(name) => name.clone(),
            Host::Ipv4(address) => address.to_string(),
            Host::Ipv6(address) => address.to_string(),
        }
    }

    /// `host` or `host:port`, in the form for the `Host` header. RFC 9110 §7.2.
    pub fn authority(&self) -> String {
        if Some(self.port) == self.scheme.default_port() {
            self.host.to_string()
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }

    /// Path and query, in the form for the request line. RFC 9112 §3.2.1.
    pub fn path_and_query(&self) -> &str {
        &self.url[url::Position::BeforePath..url::Position::AfterQuery]
    }

    /// User and password, if the URL contains them (percent-encoded as given).
    pub fn userinfo(&self) -> Option<(&str, &str)> {
        let user = self.url.username();
        (!user.is_empty() || self.url.password().is_some())
            .then(|| (user, self.url.password().unwrap_or("")))
    }

    /// The target without user and password.
    #[must_use]
    pub fn without_userinfo(mut self) -> Self {
        // Both fail only for URLs that cannot have a host; those were rejected earlier.
        let _ = self.url.set_username("");
        let _ = self.url.set_password(None);
        self
    }

    /// The URL without user and password, and with `***` for secret parameters: safe to show.
    pub fn redacted(&self) -> String {
        mask_parameters(self.clone().without_userinfo().url.as_str(), "***")
    }

    pub fn url(&self) -> &Url {
        &self.url
    }

    pub fn origin(&self) -> Origin {
        Origin {
            scheme: self.scheme,
            host: self.host_name(),
            port: self.port,
        }
    }

    /// Whether both targets have the same [`Origin`].
    pub fn same_origin(&self, other: &Self) -> bool {
        self.scheme == other.scheme && self.host == other.host && self.port == other.port
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.redacted())
    }
}

/// The beginning of a URL, for an error message.
fn shown(given: &str) -> String {
    excerpt(&mask_url(given), 80)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_quote_no_secrets() {
        let base = Target::parse("http://h/").unwrap();
        let from = |reference| base.join(reference).unwrap_err().to_string();
        for said in [
            Target::parse("http://ann:pa55@a b/")
                .unwrap_err()
                .to_string(),
            Target::parse("ann:pa55@").unwrap_err().to_string(),
            Target::parse("ftp://ann:pa55@h/?token=pa55")
                .unwrap_err()
                .to_string(),
            Target::parse("tcp://ann:pa55@h").unwrap_err().to_string(),
            from("http://ann:pa55@a b/"),
            from("gopher://h/?token=pa55"),
        ] {
            assert!(!said.contains("pa55"), "{said}");
        }
    }

    /// A terminal would obey these characters, or show the text in another order.
    #[test]
    fn characters_that_act_are_not_shown() {
        for url in [
            "ftp\u{202e}://x/",
            "http://a\u{1b}[31m b/",
            "x\u{2066}:\u{2028}//",
        ] {
            let said = Target::parse(url).unwrap_err().to_string();
            assert!(!said.chars().any(crate::acts), "{said:?}");
        }
    }

    #[test]
    fn urls_as_people_type_them() {
        let cases = [
            ("example.com", "http", "example.com", 80, "/"),
            ("https://example.com", "https", "example.com", 443, "/"),
            (
                "localhost:8080/a?b=c#d",
                "http",
                "localhost:8080",
                8080,
                "/a?b=c",
            ),
            ("https://[::1]:4433/x", "https", "[::1]:4433", 4433, "/x"),
            ("tcp://127.0.0.1:7", "tcp", "127.0.0.1:7", 7, "/"),
            (
                "https://bücher.example/",
                "https",
                "xn--bcher-kva.example",
                443,
                "/",
            ),
        ];
        for (given, scheme, authority, port, path) in cases {
            let target = Target::parse(given).unwrap();
            assert_eq!(
                (
                    target.scheme.as_str(),
                    target.authority().as_str(),
                    target.port
                ),
                (scheme, authority, port)
            );
            assert_eq!(target.path_and_query(), path, "{given}");
        }
        assert!(matches!(
            Target::parse("tcp://127.0.0.1:7").unwrap().host,
            Host::Ipv4(_)
        ));
    }

    #[test]
    fn bad_urls_are_named() {
        for given in [
            "",
            "http://",
            "ftp://example.com/",
            "tcp://example.com",
            "http://a b/",
            "http://[::1",
            "http://h:99999/",
            "http://\u{0}/",
        ] {
            assert!(Target::parse(given).is_err(), "{given:?} was accepted");
        }
        assert!(matches!(
            Target::parse(&"a".repeat(MAX_URL + 1)),
            Err(TargetError::TooLong { .. })
        ));
    }

    #[test]
    fn locations_are_resolved_and_secrets_stay_out_of_sight() {
        let secret = Target::parse("https://u:p@example.com/?api_key=x&q=1").unwrap();
        assert_eq!(secret.to_string(), "https://example.com/?api_key=***&q=1");
        assert_eq!(secret.path_and_query(), "/?api_key=x&q=1");
        let base = Target::parse("https://u:p@example.com/a/b?q#top").unwrap();
        assert_eq!(base.to_string(), "https://example.com/a/b?q#top");
        assert_eq!(
            base.join("../c").unwrap().to_string(),
            "https://example.com/c#top"
        );
        assert_eq!(
            base.join("//other.example/x").unwrap().authority(),
            "other.example"
        );
        assert!(base.join("gopher://example.com/").is_err());
        assert!(base.join("tcp://example.com:1").is_err());
    }
}
