//! Writes commands for servers, and values as servers write them (for test servers and for
//! round-trip tests).

use super::Value;
use super::decode::MAX_LINE_LENGTH;

/// Writes a command and its arguments: an array of bulk strings.
pub fn command(parts: &[&[u8]], out: &mut Vec<u8>) {
    header(b'*', parts.len(), out);
    for part in parts {
        blob(b'$', part, out);
    }
}

impl Value {
    /// Appends the value in version 3.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Null => out.extend(b"_\r\n"),
            Self::Boolean(true) => out.extend(b"#t\r\n"),
            Self::Boolean(false) => out.extend(b"#f\r\n"),
            Self::Integer(number) => line(b':', number.to_string().as_bytes(), out),
            Self::Double(number) => line(b',', double(*number).as_bytes(), out),
            Self::BigNumber(digits) => line(b'(', digits.as_bytes(), out),
            Self::Simple(text) if fits_a_line(text) => line(b'+', text, out),
            Self::Simple(text) | Self::Bulk(text) => blob(b'$', text, out),
            Self::Verbatim { form, text } => {
                let whole: Vec<u8> = [form, b":".as_slice(), text].concat();
                blob(b'=', &whole, out);
            }
            Self::Error(text) if fits_a_line(text) => line(b'-', text, out),
            Self::Error(text) => blob(b'!', text, out),
            Self::Array(items) => list(b'*', items, out),
            Self::Set(items) => list(b'~', items, out),
            Self::Push(items) => list(b'>', items, out),
            Self::Map(pairs) => map(b'%', pairs, out),
            Self::Attributed { attributes, value } => {
                map(b'|', attributes, out);
                value.encode(out);
            }
        }
    }
}

fn double(number: f64) -> String {
    if number.is_nan() {
        "nan".into()
    } else {
        number.to_string()
    }
}

fn fits_a_line(text: &[u8]) -> bool {
    text.len() + 3 <= MAX_LINE_LENGTH && !text.iter().any(|b| matches!(b, b'\r' | b'\n'))
}

fn list(kind: u8, items: &[Value], out: &mut Vec<u8>) {
    header(kind, items.len(), out);
    for item in items {
        item.encode(out);
    }
}

fn map(kind: u8, pairs: &[(Value, Value)], out: &mut Vec<u8>) {
    header(kind, pairs.len(), out);
    for (key, value) in pairs {
        key.encode(out);
        value.encode(out);
    }
}

fn blob(kind: u8, bytes: &[u8], out: &mut Vec<u8>) {
    header(kind, bytes.len(), out);
    out.extend(bytes);
    out.extend(b"\r\n");
}

fn header(kind: u8, length: usize, out: &mut Vec<u8>) {
    line(kind, length.to_string().as_bytes(), out);
}

fn line(kind: u8, text: &[u8], out: &mut Vec<u8>) {
    out.push(kind);
    out.extend(text);
    out.extend(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_an_array_of_bulk_strings() {
        let mut out = Vec::new();
        command(&[b"GET", b"a\r\nb", b""], &mut out);
        assert_eq!(out, b"*3\r\n$3\r\nGET\r\n$4\r\na\r\nb\r\n$0\r\n\r\n");
    }
}
