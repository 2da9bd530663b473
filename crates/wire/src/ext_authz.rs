//! Envoy's external authorization (`envoy.service.auth.v3`): reads a `CheckRequest` from a gRPC
//! message, and writes a `CheckResponse`.
//!
//! It implements only what these two messages need of protobuf. Unknown fields are skipped,
//! as protobuf requires. A field that occurs twice although it is not repeated is refused: readers
//! may take the first, the last or a mixture of both, and encoders write it once. The caller
//! decides what the request may do.

use crate::cursor::Cursor;
use crate::{Error, Result, protobuf};

const WHAT: &str = "a CheckRequest";
/// The flag and the length before a gRPC message.
const PREFIX: usize = 5;
/// A varint of 64 bits has no more bytes.
const MAX_VARINT: usize = 10;
/// `HeaderValueOption.append_action`: OVERWRITE_IF_EXISTS_OR_ADD.
const OVERWRITE: u64 = 2;
/// `google.rpc.Code`: PERMISSION_DENIED.
const PERMISSION_DENIED: u64 = 7;

/// The request that a proxy asks about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckRequest<'a> {
    pub method: &'a str,
    /// The path and the query.
    pub path: &'a str,
    /// The host, with the port if there is one.
    pub host: &'a str,
    pub scheme: &'a str,
    /// The client's address, as the proxy sees it.
    pub client: &'a str,
    /// The fields without the pseudo-header fields.
    pub fields: Vec<(&'a str, &'a [u8])>,
}

/// A field's number, and its bytes; `None` if it is a number, which nothing here needs.
type MessageField<'a> = (u64, Option<&'a [u8]>);

impl<'a> CheckRequest<'a> {
    /// Parses the body of a unary call: one message, not compressed.
    pub fn parse(body: &'a [u8]) -> Result<Self> {
        let attributes = only_bytes(unframed(body)?, 1)?;
        let http = only_bytes(only_bytes(attributes, 4)?, 2)?;
        let source = only_bytes(attributes, 1)?;
        let address = only_bytes(only_bytes(source, 1)?, 1)?;
        let mut request = Self {
            method: only_text(http, 2)?,
            path: only_text(http, 4)?,
            host: only_text(http, 5)?,
            scheme: only_text(http, 6)?,
            client: only_text(address, 2)?,
            fields: Vec::new(),
        };
        for pair in all_bytes(http, 3) {
            let pair = pair?;
            request.add(only_text(pair, 1)?, only_bytes(pair, 2)?);
        }
        let in_map = !request.fields.is_empty();
        for pair in all_bytes(only_bytes(http, 13)?, 1) {
            let pair = pair?;
            let (text, raw) = (only_bytes(pair, 2)?, only_bytes(pair, 3)?);
            if in_map || !(text.is_empty() || raw.is_empty()) {
                return Err(Error::malformed(WHAT, "its header fields are given twice"));
            }
            request.add(only_text(pair, 1)?, if raw.is_empty() { text } else { raw });
        }
        Ok(request)
    }

    fn add(&mut self, name: &'a str, value: &'a [u8]) {
        if !name.starts_with(':') {
            self.fields.push((name, value));
        }
    }
}

/// Writes a gRPC message: the request may pass, with these fields set and those removed.
pub fn write_allowed<'f, 'r>(
    set: impl Iterator<Item = (&'f str, &'f [u8])>,
    remove: impl Iterator<Item = &'r str>,
) -> Vec<u8> {
    let mut allowed = Vec::new();
    for (name, value) in set {
        protobuf::bytes(&mut allowed, 2, &header_option(name, value));
    }
    for name in remove {
        protobuf::bytes(&mut allowed, 5, name.as_bytes());
    }
    // A status of 0 (OK) is an empty message.
    framed(|message| {
        protobuf::bytes(message, 1, b"");
        protobuf::bytes(message, 3, &allowed);
    })
}

/// Writes a gRPC message: the client gets this answer.
pub fn write_denied<'f>(
    status: u16,
    fields: impl Iterator<Item = (&'f str, &'f [u8])>,
    body: &[u8],
) -> Vec<u8> {
    let mut denied = Vec::new();
    let mut code = Vec::new();
    protobuf::number(&mut code, 1, status.into());
    protobuf::bytes(&mut denied, 1, &code);
    for (name, value) in fields {
        protobuf::bytes(&mut denied, 2, &header_option(name, value));
    }
    protobuf::bytes(&mut denied, 3, body);
    code.clear();
    protobuf::number(&mut code, 1, PERMISSION_DENIED);
    framed(|message| {
        protobuf::bytes(message, 1, &code);
        protobuf::bytes(message, 2, &denied);
    })
}

fn header_option(name: &str, value: &[u8]) -> Vec<u8> {
    let (mut header, mut option) = (Vec::new(), Vec::new());
    protobuf::bytes(&mut header, 1, name.as_bytes());
    // A string must be UTF-8; bytes have their own field.
    let number = if std::str::from_utf8(value).is_ok() {
        2
    } else {
        3
    };
    protobuf::bytes(&mut header, number, value);
    protobuf::bytes(&mut option, 1, &header);
    protobuf::number(&mut option, 3, OVERWRITE);
    option
}

fn unframed(body: &[u8]) -> Result<&[u8]> {
    let mut cursor = Cursor::new(WHAT, body);
    if cursor.u8()? != 0 {
        return Err(cursor.malformed("it is compressed"));
    }
    let length = usize::try_from(cursor.u32()?).unwrap_or(usize::MAX);
    let message = cursor.take(length)?;
    if !cursor.is_empty() {
        return Err(cursor.malformed("more follows it"));
    }
    Ok(message)
}

fn framed(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = vec![0; PREFIX];
    write(&mut out);
    let length = u32::try_from(out.len() - PREFIX).unwrap_or(u32::MAX);
    if let Some(place) = out.get_mut(1..PREFIX) {
        place.copy_from_slice(&length.to_be_bytes());
    }
    out
}

/// All fields of a message, in order. Ends after an error.
fn fields(message: &[u8]) -> impl Iterator<Item = Result<MessageField<'_>>> {
    let mut cursor = Cursor::new(WHAT, message);
    let mut failed = false;
    std::iter::from_fn(move || {
        if failed || cursor.is_empty() {
            return None;
        }
        let field = field(&mut cursor);
        failed = field.is_err();
        Some(field)
    })
}

fn field<'a>(cursor: &mut Cursor<'a>) -> Result<MessageField<'a>> {
    let tag = varint(cursor)?;
    let value = match tag & 7 {
        0 => varint(cursor).map(|_| None)?,
        1 => cursor.take(8).map(|_| None)?,
        2 => {
            let length = varint(cursor)?;
            Some(cursor.take(usize::try_from(length).unwrap_or(usize::MAX))?)
        }
        5 => cursor.take(4).map(|_| None)?,
        _ => return Err(cursor.malformed("a field has an unknown type")),
    };
    Ok((tag >> 3, value))
}

fn varint(cursor: &mut Cursor<'_>) -> Result<u64> {
    let mut number = 0;
    for at in 0..MAX_VARINT {
        let byte = cursor.u8()?;
        number |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(cursor.malformed("a number has more than 64 bits"))
}

fn all_bytes(message: &[u8], number: u64) -> impl Iterator<Item = Result<&[u8]>> {
    fields(message).filter_map(move |field| match field {
        Ok((found, bytes)) if found == number => {
            Some(bytes.ok_or(Error::malformed(WHAT, "a field has another type")))
        }
        Ok(_) => None,
        Err(error) => Some(Err(error)),
    })
}

/// The only value of a field; empty if there is none, as in protobuf.
fn only_bytes(message: &[u8], number: u64) -> Result<&[u8]> {
    let mut found = None;
    for bytes in all_bytes(message, number) {
        if found.replace(bytes?).is_some() {
            return Err(Error::malformed(WHAT, "a field occurs twice"));
        }
    }
    Ok(found.unwrap_or_default())
}

fn only_text(message: &[u8], number: u64) -> Result<&str> {
    let bytes = only_bytes(message, number)?;
    std::str::from_utf8(bytes).map_err(|_| Error::malformed(WHAT, "a text is not UTF-8"))
}

#[cfg(test)]
mod tests;
