//! Converts a head of HTTP/2 or HTTP/3 into a [`Request`].

use roundtrip_wire::qpack::Section;

use crate::config::Limits;
use crate::forward::h1::MAX_FIELDS;
use crate::judge::request::{BadRequestError, Field, Request, Version};

const COOKIE: &str = "cookie";

pub(in crate::accept::front) struct Head {
    section: Section,
    /// No body follows.
    ended: bool,
    /// The cookies in one field, if they came in several, for HTTP/1.1. RFC 9113 §8.2.3, RFC 9114
    /// §4.2.1.
    cookies: Option<Vec<u8>>,
}

impl Head {
    /// Makes a head from a valid section.
    pub(in crate::accept::front) fn new(section: Section, ended: bool) -> Self {
        let cookies = || fields(&section).filter(|field| field.name == COOKIE);
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
            section,
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
        let mut room = [roundtrip_wire::http1::EMPTY_FIELD; MAX_FIELDS];
        let most = limits.fields.min(MAX_FIELDS);
        let mut count = 0;
        for field in self.fields() {
            let place = room.get_mut(..most).and_then(|room| room.get_mut(count));
            *place.ok_or(BadRequestError::TooManyFields)? = field;
            count += 1;
        }
        let line = self.line();
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
        let fields = fields(&self.section);
        let fields = fields.filter(move |field| !pieced || field.name != COOKIE);
        fields.chain(self.cookies.as_deref().map(|value| Field {
            name: COOKIE,
            value,
        }))
    }

    fn line(&self) -> RequestLine<'_> {
        let mut line = RequestLine::default();
        for (name, value) in self.section.lines() {
            // A value that is not UTF-8 is refused like a missing one.
            let value = std::str::from_utf8(value);
            match name {
                b":method" => line.method = value.unwrap_or_default(),
                b":path" => line.target = value.unwrap_or_default(),
                b":authority" => line.authority = value.ok(),
                b":protocol" => line.protocol = value.ok(),
                _ => {}
            }
        }
        line
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

fn fields(section: &Section) -> impl Iterator<Item = Field<'_>> {
    section.lines().filter_map(|(name, value)| {
        let name = std::str::from_utf8(name).ok();
        let name = name.filter(|name| !name.starts_with(':'))?;
        Some(Field { name, value })
    })
}

#[cfg(test)]
mod tests {
    use roundtrip_wire::qpack::{SectionBounds, begin_section, read_section, write_line};

    use super::*;

    fn head(fields: &[(&'static str, &'static str)]) -> Head {
        let mut block = Vec::new();
        begin_section(&mut block);
        let request = [
            (":method", "GET"),
            (":authority", "a.example"),
            (":path", "/x?y"),
        ];
        for (name, value) in request.iter().chain(fields) {
            write_line(&mut block, name.as_bytes(), value.as_bytes());
        }
        let bounds = SectionBounds {
            lines: 99,
            size: 9999,
        };
        Head::new(read_section(&block, bounds).unwrap(), true)
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
    fn repeated_fields_stay_repeated() {
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
