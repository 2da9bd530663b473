//! The name of one request, by which its client, gate's log and its backend speak of the same: the client's own where it can be
//! said safely, else one that is made. Nothing is allocated, and nobody is asked: a prefix of the thread's, and a number.

use std::cell::Cell;
use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use super::identity::is_read_as;
use super::{Field, Request};

pub(crate) const NAME: &str = "X-Request-Id";
/// More of a client's is not taken: nothing of it is, then.
const LONGEST: usize = 64;
const HEX: &[u8; 16] = b"0123456789abcdef";

#[derive(Clone, Copy)]
pub(crate) struct RequestId {
    bytes: [u8; LONGEST],
    length: u8,
}

thread_local! {
    /// Of this thread in this run, and how many it has made.
    static MADE: Cell<Option<(u64, u32)>> = const { Cell::new(None) };
}

impl RequestId {
    /// None yet.
    pub(crate) const NONE: Self = Self {
        bytes: [0; LONGEST],
        length: 0,
    };

    /// The client's own, or a new one.
    pub(crate) fn of(request: &Request<'_>) -> Self {
        let mut own = request.fields.iter().filter(|field| is_id(field.name));
        match (own.next(), own.next()) {
            (Some(field), None) => Self::taken(field).unwrap_or_else(Self::made),
            _ => Self::made(),
        }
    }

    /// A new one, which no other thread or run will make.
    pub(crate) fn made() -> Self {
        let (prefix, number) = MADE.get().unwrap_or_else(|| (prefix(), 0));
        // After four billion: as good as a restart.
        let next = number.checked_add(1).map(|next| (prefix, next));
        MADE.set(next);
        let mut id = Self::NONE;
        id.hex(prefix, 16);
        id.push(b'-');
        id.hex(number.into(), 8);
        id
    }

    fn taken(field: &Field<'_>) -> Option<Self> {
        let sane = |b: &u8| b.is_ascii_alphanumeric() || b"-_.:=+/@~".contains(b);
        let fits = (1..=LONGEST).contains(&field.value.len());
        if !fits || !field.value.iter().all(sane) {
            return None;
        }
        let mut id = Self::NONE;
        for byte in field.value {
            id.push(*byte);
        }
        Some(id)
    }

    pub(crate) fn is_none(&self) -> bool {
        self.length == 0
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.length.into()).unwrap_or_default()
    }

    pub(crate) fn as_str(&self) -> &str {
        // Of ASCII alone.
        std::str::from_utf8(self.as_bytes()).unwrap_or_default()
    }

    fn push(&mut self, byte: u8) {
        if let Some(place) = self.bytes.get_mut(usize::from(self.length)) {
            *place = byte;
            self.length += 1;
        }
    }

    fn hex(&mut self, number: u64, digits: u32) {
        for at in (0..digits).rev() {
            let digit = (number >> (4 * at)) & 15;
            self.push(HEX.get(digit as usize).copied().unwrap_or(b'0'));
        }
    }
}

impl fmt::Debug for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Whatever is behind CGI or WSGI does not tell `_` from `-`: a second spelling would be a second id.
pub(crate) fn is_id(name: &str) -> bool {
    is_read_as(name, NAME)
}

fn prefix() -> u64 {
    let mut bytes = [0; 8];
    if aws_lc_rs::rand::fill(&mut bytes).is_ok() {
        return u64::from_ne_bytes(bytes);
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.as_nanos() as u64)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::judge::request::Version;

    fn of(fields: &[(&str, &str)]) -> RequestId {
        let field = |(name, value): &(&'static str, &'static str)| Field {
            name,
            value: value.as_bytes(),
        };
        let owned: Vec<(&'static str, &'static str)> = fields
            .iter()
            .map(|(n, v)| (&*n.to_string().leak(), &*v.to_string().leak()))
            .collect();
        let fields: Vec<Field<'_>> = owned.iter().map(field).collect();
        RequestId::of(&Request {
            method: "GET",
            target: "/",
            authority: None,
            version: Version::H11,
            ended: false,
            protocol: None,
            fields: &fields,
        })
    }

    #[test]
    fn a_sane_one_is_kept_and_another_is_made() {
        let uuid = "6f9619ff-8b86-d011-b42d-00cf4fc964ff";
        assert_eq!(of(&[("x-request-id", uuid)]).as_str(), uuid);
        let long = "a".repeat(LONGEST);
        assert_eq!(of(&[("X-Request-ID", &long)]).as_str(), long);
        for bad in [
            "",
            "a b",
            "a\"b",
            "<b>",
            "a;b",
            "\u{e9}",
            &"a".repeat(LONGEST + 1),
        ] {
            let made = of(&[("X-Request-Id", bad)]);
            assert_eq!(made.as_str().len(), 25, "{bad}: {made:?}");
        }
        // Of two nobody knows which one is meant.
        let two = of(&[("X-Request-Id", "a"), ("X_Request_Id", "b")]);
        assert_eq!(two.as_str().len(), 25);
    }

    #[test]
    fn no_two_are_alike_in_whatever_thread() {
        let some = || (0..1000).map(|_| RequestId::made().as_str().to_owned());
        let threads: Vec<_> = (0..4)
            .map(|_| std::thread::spawn(move || some().collect::<Vec<_>>()))
            .collect();
        let made: Vec<String> = threads
            .into_iter()
            .flat_map(|t| t.join().unwrap())
            .collect();
        let different: HashSet<&String> = made.iter().collect();
        assert_eq!(different.len(), 4000);
    }

    #[test]
    fn a_thread_that_has_counted_to_the_end_begins_anew() {
        MADE.set(Some((1, u32::MAX)));
        assert_eq!(RequestId::made().as_str(), "0000000000000001-ffffffff");
        assert!(RequestId::made().as_str().ends_with("-00000000"));
    }
}
