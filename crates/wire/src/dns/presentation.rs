//! Responses in the presentation format, as name servers' own tools print them: one line for each
//! record, of any class, with the case of names preserved. RFC 1035 §5.1, RFC 3597 §5.

mod data;

use std::fmt::Write;

use super::message::{OPCODE, RESPONSE, TRUNCATED};
use super::{Kind, Name, Rcode};
use crate::Result;
use crate::cursor::Cursor;

/// A response as text. The OPT pseudo-record is among `additionals`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ResponseText {
    pub id: u16,
    pub truncated: bool,
    /// The four bits of the header.
    pub rcode: u16,
    pub answers: Vec<String>,
    pub authorities: Vec<String>,
    pub additionals: Vec<String>,
    /// The serial number of the last SOA record among the answers.
    pub serial: Option<u32>,
}

const CLASSES: [(&str, u16); 6] = [
    ("IN", 1),
    ("CS", 2),
    ("CH", 3),
    ("HS", 4),
    ("NONE", 254),
    ("ANY", 255),
];

/// The number of a class with this name.
pub fn class_number(name: &str) -> Option<u16> {
    let found = CLASSES.iter().find(|(known, _)| *known == name);
    found.map(|(_, number)| *number)
}

impl ResponseText {
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let mut cursor = Cursor::new("DNS message", bytes);
        let id = cursor.u16()?;
        let flags = cursor.u16()?;
        if flags & RESPONSE == 0 || flags & OPCODE != 0 {
            return Err(cursor.malformed("it is not the response to a query"));
        }
        let questions = cursor.u16()?;
        let counts = [cursor.u16()?, cursor.u16()?, cursor.u16()?];
        for _ in 0..questions {
            name(&mut cursor, bytes)?;
            cursor.u32()?;
        }
        let mut response = Self {
            id,
            truncated: flags & TRUNCATED != 0,
            rcode: flags & super::message::RCODE,
            ..Self::default()
        };
        let [answers, authorities, additionals] = counts;
        for _ in 0..answers {
            let (kind, text) = record(&mut cursor, bytes)?;
            if kind == Kind::SOA {
                let serial = text
                    .rsplit(' ')
                    .nth(4)
                    .and_then(|serial| serial.parse().ok());
                response.serial = serial.or(response.serial);
            }
            response.answers.push(text);
        }
        for _ in 0..authorities {
            response.authorities.push(record(&mut cursor, bytes)?.1);
        }
        for _ in 0..additionals {
            response.additionals.push(record(&mut cursor, bytes)?.1);
        }
        Ok(response)
    }
}

impl Rcode {
    /// The code with this name, in upper case.
    pub fn from_name(name: &str) -> Option<Self> {
        let place = RCODES.iter().position(|known| *known == name)?;
        u16::try_from(place).ok().map(Self)
    }
}

/// The codes that fit into the header. RFC 1035 §4.1.1, RFC 2136 §2.2.
const RCODES: [&str; 11] = [
    "NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED", "YXDOMAIN", "YXRRSET",
    "NXRRSET", "NOTAUTH", "NOTZONE",
];

/// One record: its name, TTL, class, type and data, with tabs between them.
fn record<'a>(cursor: &mut Cursor<'a>, message: &'a [u8]) -> Result<(Kind, String)> {
    let owner = name(cursor, message)?;
    let kind = Kind(cursor.u16()?);
    let class = cursor.u16()?;
    let ttl = cursor.u32()?;
    let data = data::text(kind, cursor.vector16()?, message)?;
    let known = CLASSES.iter().find(|(_, number)| *number == class);
    let class = match known {
        Some((name, _)) if kind.has_name() => (*name).to_owned(),
        // RFC 3597 §5.
        _ => format!("CLASS{class}"),
    };
    Ok((kind, format!("{owner}\t{ttl}\t{class}\t{kind}\t{data}")))
}

/// A name with its final dot, and its case.
fn name<'a>(cursor: &mut Cursor<'a>, message: &'a [u8]) -> Result<String> {
    let mut text = String::new();
    let mut length = 1;
    Name::read_labels(cursor, message, |label| {
        length += label.len() + 1;
        if length > 255 {
            return Err("it is longer than 255 bytes");
        }
        for byte in label {
            escape(*byte, b". '@;()\"\\", &mut text);
        }
        text.push('.');
        Ok(())
    })?;
    if text.is_empty() {
        text.push('.');
    }
    Ok(text)
}

/// Appends a byte: `special` ones after a backslash, unprintable ones as three decimal digits.
fn escape(byte: u8, special: &[u8], text: &mut String) {
    match byte {
        byte if special.contains(&byte) => text.extend(['\\', char::from(byte)]),
        b' '..=b'~' => text.push(char::from(byte)),
        byte => {
            let _ = write!(text, "\\{byte:03}");
        }
    }
}
