//! Parses values from bytes that arrive in pieces. Each byte is examined a bounded number of times.

use super::Value;
use crate::{Error, Result};

const WHAT: &str = "an answer of the store";
/// The longest line in bytes, including the line break.
pub(super) const MAX_LINE_LENGTH: usize = 4096;
/// The largest capacity that is reserved before any elements have arrived.
const FORESIGHT: usize = 16;

/// Limits on the memory that a server can make the client use. Each is checked before memory is
/// allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RespLimits {
    /// The depth of nested values.
    pub depth: usize,
    /// The largest size of one string in bytes.
    pub string: usize,
    /// The largest size of one value with everything in it, in bytes on the wire.
    pub total: usize,
}

impl Default for RespLimits {
    fn default() -> Self {
        Self {
            depth: 8,
            string: 1 << 20,
            total: 4 << 20,
        }
    }
}

/// Takes bytes as they arrive and returns values. After an error nothing more can be parsed,
/// because the start of the next value is unknown.
#[derive(Debug, Default)]
pub struct Decoder {
    limits: RespLimits,
    buffer: Vec<u8>,
    /// The number of bytes of the buffer that have been used.
    used: usize,
    /// The size in bytes of the current value so far.
    size: usize,
    /// A string whose length is known, but whose bytes have not all arrived.
    string: Option<(StringKind, usize)>,
    open: Vec<PartialValue>,
    broken: Option<Error>,
}

/// An incomplete value.
#[derive(Debug)]
struct PartialValue {
    kind: ValueShape,
    /// The number of values that are still missing.
    left: usize,
    items: Vec<Value>,
}

#[derive(Debug)]
enum ValueShape {
    Array,
    Set,
    Push,
    Map,
    Attributes,
    /// Followed by the value that the attributes describe.
    Attributed(Vec<(Value, Value)>),
}

#[derive(Debug, Clone, Copy)]
enum StringKind {
    Bulk,
    Error,
    Verbatim,
}

/// The value that a line begins.
enum Begun {
    Value(Value),
    String(StringKind, usize),
    Frame(ValueShape, usize),
}

impl Decoder {
    pub fn new(limits: RespLimits) -> Self {
        Self {
            limits,
            ..Self::default()
        }
    }

    /// Takes bytes that have arrived.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.used == self.buffer.len() {
            self.buffer.clear();
            self.used = 0;
        } else if self.used > self.buffer.len() / 2 {
            self.buffer.drain(..self.used);
            self.used = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns the next value, once it is complete.
    pub fn next_value(&mut self) -> Result<Option<Value>> {
        if let Some(error) = &self.broken {
            return Err(error.clone());
        }
        let outcome = self.read();
        if let Err(error) = &outcome {
            self.broken = Some(error.clone());
            self.buffer = Vec::new();
            self.used = 0;
            self.open = Vec::new();
        }
        outcome
    }

    /// Whether a value is incomplete or bytes are unused.
    #[cfg(test)]
    pub fn is_amid(&self) -> bool {
        self.used < self.buffer.len() || !self.open.is_empty() || self.string.is_some()
    }

    fn read(&mut self) -> Result<Option<Value>> {
        loop {
            let value = if let Some((kind, length)) = self.string {
                let Some(value) = self.read_string(kind, length)? else {
                    return Ok(None);
                };
                self.string = None;
                value
            } else {
                let Some(line) = self.read_line()? else {
                    return Ok(None);
                };
                match begin(&line, &self.limits)? {
                    Begun::Value(value) => value,
                    Begun::String(kind, length) => {
                        self.string = Some((kind, length));
                        continue;
                    }
                    Begun::Frame(kind, left) => {
                        if !self.begin_frame(kind, left)? {
                            continue;
                        }
                        match self.close_frames()? {
                            Some(value) => return Ok(Some(value)),
                            None => continue,
                        }
                    }
                }
            };
            if let Some(whole) = self.place(value)? {
                return Ok(Some(whole));
            }
        }
    }

    /// Reads a line and removes its line break.
    fn read_line(&mut self) -> Result<Option<Vec<u8>>> {
        let rest = self.buffer.get(self.used..).unwrap_or_default();
        let window = rest.get(..MAX_LINE_LENGTH).unwrap_or(rest);
        let Some(end) = window.iter().position(|b| *b == b'\n') else {
            return if rest.len() >= MAX_LINE_LENGTH {
                Err(too_large("a line of the store", MAX_LINE_LENGTH))
            } else {
                Ok(None)
            };
        };
        let line = window.get(..end).unwrap_or_default();
        let line = line
            .strip_suffix(b"\r")
            .ok_or(malformed("a line does not end in CR LF"))?;
        if line.contains(&b'\r') {
            return Err(malformed("a line holds a CR"));
        }
        let line = line.to_vec();
        self.consume(end + 1)?;
        Ok(Some(line))
    }

    fn read_string(&mut self, kind: StringKind, length: usize) -> Result<Option<Value>> {
        let rest = self.buffer.get(self.used..).unwrap_or_default();
        let Some(bytes) = rest.get(..length + 2) else {
            return Ok(None);
        };
        let bytes = bytes
            .strip_suffix(b"\r\n")
            .ok_or(malformed("a string does not end where it should"))?;
        let value = match kind {
            StringKind::Bulk => Value::Bulk(bytes.to_vec()),
            StringKind::Error => Value::Error(bytes.to_vec()),
            StringKind::Verbatim => verbatim(bytes)?,
        };
        self.consume(length + 2)?;
        Ok(Some(value))
    }

    fn consume(&mut self, count: usize) -> Result<()> {
        self.used += count;
        self.size += count;
        if self.size > self.limits.total {
            return Err(too_large(WHAT, self.limits.total));
        }
        Ok(())
    }

    /// Returns `true` if the frame is already complete because it is empty.
    fn begin_frame(&mut self, kind: ValueShape, left: usize) -> Result<bool> {
        if self.open.len() >= self.limits.depth {
            return Err(too_large("the depth of an answer", self.limits.depth));
        }
        // Pushes are top-level values only.
        if matches!(kind, ValueShape::Push) && !self.open.is_empty() {
            return Err(malformed("a push within another value"));
        }
        let items = Vec::with_capacity(left.min(FORESIGHT));
        self.open.push(PartialValue { kind, left, items });
        Ok(left == 0)
    }

    /// Adds a value to the innermost frame; returns the outermost value once it is complete.
    fn place(&mut self, value: Value) -> Result<Option<Value>> {
        let Some(frame) = self.open.last_mut() else {
            self.size = 0;
            return Ok(Some(value));
        };
        frame.items.push(value);
        frame.left = frame.left.saturating_sub(1);
        if frame.left > 0 {
            return Ok(None);
        }
        self.close_frames()
    }

    /// Closes the innermost frame, and those that it completes.
    fn close_frames(&mut self) -> Result<Option<Value>> {
        while let Some(frame) = self.open.pop() {
            let value = match frame.kind {
                ValueShape::Array => Value::Array(frame.items),
                ValueShape::Set => Value::Set(frame.items),
                ValueShape::Push => Value::Push(frame.items),
                ValueShape::Map => Value::Map(pairs(frame.items)),
                ValueShape::Attributes => {
                    self.begin_frame(ValueShape::Attributed(pairs(frame.items)), 1)?;
                    return Ok(None);
                }
                ValueShape::Attributed(attributes) => attributed(attributes, frame.items)?,
            };
            let Some(outer) = self.open.last_mut() else {
                self.size = 0;
                return Ok(Some(value));
            };
            outer.items.push(value);
            outer.left = outer.left.saturating_sub(1);
            if outer.left > 0 {
                return Ok(None);
            }
        }
        Ok(None)
    }
}

fn begin(line: &[u8], limits: &RespLimits) -> Result<Begun> {
    let (kind, rest) = line.split_first().ok_or(malformed("an empty line"))?;
    let string = |kind| match length(rest)? {
        None => Ok(Begun::Value(Value::Null)),
        Some(n) if n > limits.string => Err(too_large("a string of the store", limits.string)),
        Some(n) => Ok(Begun::String(kind, n)),
    };
    let frame = |whole, each: usize| match length(rest)? {
        None => Ok(Begun::Value(Value::Null)),
        // Each value takes at least three bytes, so this many would exceed the limit.
        Some(n) if n.saturating_mul(each) > limits.total / 3 => Err(too_large(
            "the number of values in an answer",
            limits.total / 3,
        )),
        Some(n) => Ok(Begun::Frame(whole, n.saturating_mul(each))),
    };
    match kind {
        b'+' => Ok(Begun::Value(Value::Simple(rest.to_vec()))),
        b'-' => Ok(Begun::Value(Value::Error(rest.to_vec()))),
        b':' => Ok(Begun::Value(Value::Integer(integer(rest)?))),
        b'_' if rest.is_empty() => Ok(Begun::Value(Value::Null)),
        b'#' => match rest {
            b"t" => Ok(Begun::Value(Value::Boolean(true))),
            b"f" => Ok(Begun::Value(Value::Boolean(false))),
            _ => Err(malformed("a boolean that is neither true nor false")),
        },
        b',' => Ok(Begun::Value(Value::Double(double(rest)?))),
        b'(' => Ok(Begun::Value(Value::BigNumber(big_number(rest)?))),
        b'$' => string(StringKind::Bulk),
        b'!' => string(StringKind::Error),
        b'=' => string(StringKind::Verbatim),
        b'*' => frame(ValueShape::Array, 1),
        b'~' => frame(ValueShape::Set, 1),
        b'>' => frame(ValueShape::Push, 1),
        b'%' => frame(ValueShape::Map, 2),
        b'|' => frame(ValueShape::Attributes, 2),
        _ => Err(malformed("a value of no known type")),
    }
}

/// Parses a length. `None` is the null of version 2. A question mark announces a streamed value.
fn length(text: &[u8]) -> Result<Option<usize>> {
    match text {
        b"-1" => Ok(None),
        b"?" => Err(malformed("a streamed value")),
        [b'0'..=b'9', ..] if text.len() <= 10 => {
            let length = integer(text)?;
            usize::try_from(length)
                .map(Some)
                .map_err(|_| malformed("an invalid length"))
        }
        _ => Err(malformed("an invalid length")),
    }
}

fn integer(text: &[u8]) -> Result<i64> {
    str::from_utf8(text)
        .ok()
        .and_then(|t| t.parse().ok())
        .ok_or(malformed("an invalid integer"))
}

fn double(text: &[u8]) -> Result<f64> {
    match text {
        b"inf" | b"+inf" => return Ok(f64::INFINITY),
        b"-inf" => return Ok(f64::NEG_INFINITY),
        b"nan" | b"-nan" => return Ok(f64::NAN),
        _ => {}
    }
    let plain = |b: &u8| matches!(b, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
    str::from_utf8(text)
        .ok()
        .filter(|_| text.iter().all(plain))
        .and_then(|t| t.parse().ok())
        .ok_or(malformed("an invalid number"))
}

fn big_number(text: &[u8]) -> Result<String> {
    let digits = text
        .strip_prefix(b"+")
        .or(text.strip_prefix(b"-"))
        .unwrap_or(text);
    let good = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    str::from_utf8(text)
        .ok()
        .filter(|_| good)
        .map(str::to_owned)
        .ok_or(malformed("an invalid big number"))
}

fn verbatim(bytes: &[u8]) -> Result<Value> {
    match bytes {
        [a, b, c, b':', text @ ..] => Ok(Value::Verbatim {
            form: [*a, *b, *c],
            text: text.to_vec(),
        }),
        _ => Err(malformed("a verbatim string without its form")),
    }
}

fn pairs(items: Vec<Value>) -> Vec<(Value, Value)> {
    let mut pairs = Vec::with_capacity(items.len() / 2);
    let mut items = items.into_iter();
    while let (Some(key), Some(value)) = (items.next(), items.next()) {
        pairs.push((key, value));
    }
    pairs
}

fn attributed(attributes: Vec<(Value, Value)>, items: Vec<Value>) -> Result<Value> {
    match items.into_iter().next() {
        Some(Value::Push(_)) | None => Err(malformed("attributes without a value")),
        Some(value) => Ok(Value::Attributed {
            attributes,
            value: Box::new(value),
        }),
    }
}

fn malformed(why: &'static str) -> Error {
    Error::malformed(WHAT, why)
}

fn too_large(what: &'static str, limit: usize) -> Error {
    Error::TooLarge { what, limit }
}

#[cfg(test)]
mod tests;
