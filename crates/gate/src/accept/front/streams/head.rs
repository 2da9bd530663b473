//! Converts a head of the protocol crates into a [`Request`].

use http::header::COOKIE;
use http::request::Parts;

use crate::config::Limits;
use crate::forward::h1::MOST_FIELDS;
use crate::judge::request::{BadRequestError, Field, Request, Version};

pub(in crate::accept::front) struct Head {
    parts: Parts,
    /// No body follows.
    ended: bool,
    /// The cookies in one field, if they came in several, for HTTP/1.1. RFC 9113 §8.2.3, RFC 9114
    /// §4.2.1.
    cookies: Option<Vec<u8>>,
}

impl Head {
    pub(in crate::accept::front) fn new(parts: Parts, ended: bool) -> Self {
        let in_pieces = parts.headers.get_all(COOKIE).iter().nth(1).is_some();
        let cookies = in_pieces.then(|| {
            let mut whole = Vec::new();
            for piece in parts.headers.get_all(COOKIE) {
                if !whole.is_empty() {
                    whole.extend_from_slice(b"; ");
                }
                whole.extend_from_slice(piece.as_bytes());
            }
            whole
        });
        Self {
            parts,
            ended,
            cookies,
        }
    }

    pub(super) fn read<T>(
        &self,
        version: Version,
        limits: &Limits,
        take: impl FnOnce(&Request<'_>) -> T,
    ) -> Result<T, BadRequestError> {
        let mut room = [roundtrip_wire::http1::EMPTY_FIELD; MOST_FIELDS];
        let most = limits.fields.min(MOST_FIELDS);
        let mut count = 0;
        for field in self.fields() {
            let place = room.get_mut(..most).and_then(|room| room.get_mut(count));
            *place.ok_or(BadRequestError::TooManyFields)? = field;
            count += 1;
        }
        let uri = &self.parts.uri;
        // RFC 8441 §4. It is not accepted over HTTP/3.
        let protocol = self.parts.extensions.get::<h2::ext::Protocol>();
        let protocol = protocol.map(h2::ext::Protocol::as_str);
        Ok(take(&Request {
            method: if protocol.is_some() {
                "GET"
            } else {
                self.parts.method.as_str()
            },
            target: uri.path_and_query().map_or("", |target| target.as_str()),
            authority: uri.authority().map(http::uri::Authority::as_str),
            version,
            ended: self.ended,
            protocol,
            fields: room.get(..count).unwrap_or_default(),
        }))
    }

    fn fields(&self) -> impl Iterator<Item = Field<'_>> {
        let pieced = self.cookies.is_some();
        let fields = self.parts.headers.iter();
        let fields = fields.filter(move |(name, _)| !pieced || **name != COOKIE);
        let fields = fields.map(|(name, value)| Field {
            name: name.as_str(),
            value: value.as_bytes(),
        });
        fields.chain(self.cookies.as_deref().map(|value| Field {
            name: "cookie",
            value,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(fields: &[(&'static str, &'static str)]) -> Head {
        let mut request = http::Request::get("https://a.example/x?y");
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        Head::new(request.body(()).unwrap().into_parts().0, true)
    }

    fn written(head: &Head) -> Vec<String> {
        let read = head.read(Version::H2, &Limits::default(), |request| {
            assert_eq!(request.target, "/x?y");
            assert_eq!(request.authority, Some("a.example"));
            let lines = request.fields.iter();
            let lines = lines.map(|f| format!("{}: {}", f.name, f.value.escape_ascii()));
            lines.collect()
        });
        read.unwrap()
    }

    #[test]
    fn what_is_said_more_than_once_is_there_more_than_once() {
        let read = written(&head(&[("accept", "a"), ("host", "x"), ("host", "y")]));
        assert_eq!(read, ["accept: a", "host: x", "host: y"]);
    }

    #[test]
    fn pieces_of_cookies_become_one_field() {
        let read = written(&head(&[("cookie", "a=b"), ("x", "y"), ("cookie", "c=d")]));
        assert_eq!(read, ["x: y", "cookie: a=b; c=d"]);
        assert_eq!(written(&head(&[("cookie", "a=b")])), ["cookie: a=b"]);
    }

    #[test]
    fn fields_are_counted() {
        let limits = Limits {
            fields: 2,
            ..Limits::default()
        };
        let two = head(&[("a", "b"), ("a", "c")]);
        assert_eq!(two.read(Version::H2, &limits, |_| ()), Ok(()));
        let three = head(&[("a", "b"), ("a", "c"), ("d", "e")]);
        let refused = three.read(Version::H2, &limits, |_| ());
        assert_eq!(refused, Err(BadRequestError::TooManyFields));
    }
}
