//! Converts a head of HTTP/2 or HTTP/3 into a [`Request`].

use http::request::Parts;
use roundtrip_wire::qpack::Section;

use crate::config::Limits;
use crate::forward::h1::MOST_FIELDS;
use crate::judge::request::{BadRequestError, Field, Request, Version};

const COOKIE: &str = "cookie";

pub(in crate::accept::front) struct Head {
    source: Source,
    /// No body follows.
    ended: bool,
    /// The cookies in one field, if they came in several, for HTTP/1.1. RFC 9113 §8.2.3, RFC 9114
    /// §4.2.1.
    cookies: Option<Vec<u8>>,
}

/// The form in which a head was read.
enum Source {
    H2(Parts),
    H3(Section),
}

impl Head {
    pub(in crate::accept::front) fn of_parts(parts: Parts, ended: bool) -> Self {
        Self::new(Source::H2(parts), ended)
    }

    /// From a valid section.
    pub(in crate::accept::front) fn of_section(section: Section, ended: bool) -> Self {
        Self::new(Source::H3(section), ended)
    }

    fn new(source: Source, ended: bool) -> Self {
        let cookies = || source.fields().filter(|field| field.name == COOKIE);
        let in_pieces = cookies().nth(1).is_some();
        let cookies = in_pieces.then(|| {
            let mut whole = Vec::new();
            for piece in cookies() {
                if !whole.is_empty() {
                    whole.extend_from_slice(b"; ");
                }
                whole.extend_from_slice(piece.value);
            }
            whole
        });
        Self {
            source,
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
        let line = self.source.line();
        Ok(take(&Request {
            method: if line.protocol.is_some() {
                "GET"
            } else {
                line.method
            },
            target: line.target,
            authority: line.authority,
            version,
            ended: self.ended,
            protocol: line.protocol,
            fields: room.get(..count).unwrap_or_default(),
        }))
    }

    fn fields(&self) -> impl Iterator<Item = Field<'_>> {
        let pieced = self.cookies.is_some();
        let fields = self.source.fields();
        let fields = fields.filter(move |field| !pieced || field.name != COOKIE);
        fields.chain(self.cookies.as_deref().map(|value| Field {
            name: COOKIE,
            value,
        }))
    }
}

/// The parts of HTTP/1.1's request line.
#[derive(Default)]
struct RequestLine<'a> {
    method: &'a str,
    target: &'a str,
    authority: Option<&'a str>,
    /// RFC 8441 §4. It is not accepted over HTTP/3.
    protocol: Option<&'a str>,
}

impl Source {
    fn line(&self) -> RequestLine<'_> {
        match self {
            Self::H2(parts) => {
                let uri = &parts.uri;
                let protocol = parts.extensions.get::<h2::ext::Protocol>();
                RequestLine {
                    method: parts.method.as_str(),
                    target: uri.path_and_query().map_or("", |target| target.as_str()),
                    authority: uri.authority().map(http::uri::Authority::as_str),
                    protocol: protocol.map(h2::ext::Protocol::as_str),
                }
            }
            Self::H3(section) => {
                let mut line = RequestLine::default();
                for (name, value) in section.lines() {
                    // A value that is not UTF-8 is refused like a missing one.
                    let value = std::str::from_utf8(value);
                    match name {
                        b":method" => line.method = value.unwrap_or_default(),
                        b":path" => line.target = value.unwrap_or_default(),
                        b":authority" => line.authority = value.ok(),
                        _ => {}
                    }
                }
                line
            }
        }
    }

    fn fields(&self) -> impl Iterator<Item = Field<'_>> {
        let (parts, section) = match self {
            Self::H2(parts) => (Some(parts), None),
            Self::H3(section) => (None, Some(section)),
        };
        let of_parts = parts.into_iter().flat_map(|parts| &parts.headers);
        let of_parts = of_parts.map(|(name, value)| Field {
            name: name.as_str(),
            value: value.as_bytes(),
        });
        let of_section = section.into_iter().flat_map(Section::lines);
        let of_section = of_section.filter_map(|(name, value)| {
            let name = std::str::from_utf8(name).ok();
            let name = name.filter(|name| !name.starts_with(':'))?;
            Some(Field { name, value })
        });
        of_parts.chain(of_section)
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
        Head::of_parts(request.body(()).unwrap().into_parts().0, true)
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
