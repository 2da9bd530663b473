//! Parses a whole DNS message. RFC 1035 §4, RFC 6891. `encode` writes one.

use std::fmt;

use super::{Data, Kind, Name, Query, Record};
use crate::Result;
use crate::cursor::Cursor;

pub(super) const CLASS_IN: u16 = 1;

/// Bits of the second 16-bit word of the header. RFC 1035 §4.1.1.
pub(super) const RESPONSE: u16 = 0x8000;
pub(super) const OPCODE: u16 = 0x7800;
pub(super) const AUTHORITATIVE: u16 = 0x0400;
pub(super) const TRUNCATED: u16 = 0x0200;
pub(super) const RECURSION_DESIRED: u16 = 0x0100;
pub(super) const RECURSION_AVAILABLE: u16 = 0x0080;
pub(super) const RCODE: u16 = 0x000f;

/// A response code, with the upper bits that EDNS adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rcode(pub u16);

impl Rcode {
    pub const NO_ERROR: Self = Self(0);
    pub const FORMAT_ERROR: Self = Self(1);
    pub const SERVER_FAILURE: Self = Self(2);
    pub const NO_SUCH_NAME: Self = Self(3);
    pub const NOT_IMPLEMENTED: Self = Self(4);
    pub const REFUSED: Self = Self(5);
}

impl fmt::Display for Rcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NO_ERROR => f.write_str("NOERROR"),
            Self::FORMAT_ERROR => f.write_str("FORMERR"),
            Self::SERVER_FAILURE => f.write_str("SERVFAIL"),
            Self::NO_SUCH_NAME => f.write_str("NXDOMAIN"),
            Self::NOT_IMPLEMENTED => f.write_str("NOTIMP"),
            Self::REFUSED => f.write_str("REFUSED"),
            Self(number) => write!(f, "RCODE{number}"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    pub name: Name,
    pub kind: Kind,
}

/// Questions and records of class IN. The OPT pseudo-record is represented by `udp_size` and in
/// `rcode`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub id: u16,
    pub response: bool,
    pub authoritative: bool,
    /// The answer did not fit into the datagram; ask again over TCP. RFC 7766 §5.
    pub truncated: bool,
    pub recursion_desired: bool,
    pub recursion_available: bool,
    pub rcode: Rcode,
    pub questions: Vec<Question>,
    pub answers: Vec<Record>,
    pub authorities: Vec<Record>,
    pub additionals: Vec<Record>,
    /// The largest datagram in bytes that the sender accepts, if it uses EDNS.
    pub udp_size: Option<u16>,
}

impl Message {
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let mut cursor = Cursor::new("DNS message", bytes);
        let id = cursor.u16()?;
        let flags = cursor.u16()?;
        if flags & OPCODE != 0 {
            return Err(cursor.malformed("its opcode is not that of a query"));
        }
        let counts = [cursor.u16()?, cursor.u16()?, cursor.u16()?, cursor.u16()?];
        let mut message = Self::bare(id, flags);
        // A truncated message holds everything that could be parsed.
        match message.read_sections(&mut cursor, bytes, counts) {
            Err(error) if !message.truncated => Err(error),
            _ => Ok(message),
        }
    }

    fn bare(id: u16, flags: u16) -> Self {
        let set = |bit| flags & bit != 0;
        Self {
            id,
            response: set(RESPONSE),
            authoritative: set(AUTHORITATIVE),
            truncated: set(TRUNCATED),
            recursion_desired: set(RECURSION_DESIRED),
            recursion_available: set(RECURSION_AVAILABLE),
            rcode: Rcode(flags & RCODE),
            questions: Vec::new(),
            answers: Vec::new(),
            authorities: Vec::new(),
            additionals: Vec::new(),
            udp_size: None,
        }
    }

    /// An empty answer to this question, for a name server to fill.
    #[must_use]
    pub fn reply(&self, rcode: Rcode) -> Self {
        Self {
            response: true,
            recursion_available: true,
            rcode,
            answers: Vec::new(),
            authorities: Vec::new(),
            additionals: Vec::new(),
            ..self.clone()
        }
    }

    /// Whether this answers that query and is not a stray or forged datagram. RFC 5452 §9.1.
    pub fn answers_query(&self, query: &Query) -> bool {
        let same = match self.questions.as_slice() {
            [question] => question.name == query.name && question.kind == query.kind,
            // A server that could not parse the question cannot repeat it.
            [] => !matches!(self.rcode, Rcode::NO_ERROR | Rcode::NO_SUCH_NAME),
            _ => false,
        };
        self.response && self.id == query.id && same
    }

    fn read_sections<'a>(
        &mut self,
        cursor: &mut Cursor<'a>,
        bytes: &'a [u8],
        [questions, answers, authorities, additionals]: [u16; 4],
    ) -> Result<()> {
        for _ in 0..questions {
            let name = Name::read(cursor, bytes)?;
            let kind = Kind(cursor.u16()?);
            if cursor.u16()? != CLASS_IN {
                return Err(cursor.malformed("a question is not of class IN"));
            }
            self.questions.push(Question { name, kind });
        }
        for _ in 0..answers {
            let record = self.read_record(cursor, bytes)?;
            self.answers.extend(record);
        }
        for _ in 0..authorities {
            let record = self.read_record(cursor, bytes)?;
            self.authorities.extend(record);
        }
        for _ in 0..additionals {
            let record = self.read_record(cursor, bytes)?;
            self.additionals.extend(record);
        }
        Ok(())
    }

    /// Parses one record; `None` if it is the OPT pseudo-record or of another class.
    fn read_record<'a>(
        &mut self,
        cursor: &mut Cursor<'a>,
        bytes: &'a [u8],
    ) -> Result<Option<Record>> {
        let name = Name::read(cursor, bytes)?;
        let kind = Kind(cursor.u16()?);
        let class = cursor.u16()?;
        let ttl = cursor.u32()?;
        let data = cursor.vector16()?;
        if kind == Kind::OPT {
            // RFC 6891 §6.1.1 and §6.1.3.
            if self.udp_size.is_some() {
                return Err(cursor.malformed("it has two OPT records"));
            }
            self.udp_size = Some(class);
            self.rcode.0 |= (ttl >> 24 << 4) as u16;
            return Ok(None);
        }
        if class != CLASS_IN {
            return Ok(None);
        }
        Ok(Some(Record {
            name,
            // RFC 2181 §8: a TTL with the top bit set counts as zero.
            ttl: if ttl >> 31 == 0 { ttl } else { 0 },
            data: Data::read(kind, data, bytes)?,
        }))
    }
}
