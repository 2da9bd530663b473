//! Writes and reads protobuf's wire format: as much of it as the messages in this crate need.

/// Adds a number in seven-bit groups.
pub(crate) fn varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Adds a field that is a number.
pub(crate) fn number(out: &mut Vec<u8>, field: u64, value: u64) {
    varint(out, field << 3);
    varint(out, value);
}

/// Adds a field of eight bytes: `fixed64` or `double`.
pub(crate) fn fixed64(out: &mut Vec<u8>, field: u64, value: u64) {
    varint(out, field << 3 | 1);
    out.extend(value.to_le_bytes());
}

/// Adds a field that is text, bytes, or a message.
pub(crate) fn bytes(out: &mut Vec<u8>, field: u64, value: &[u8]) {
    varint(out, field << 3 | 2);
    varint(out, value.len() as u64);
    out.extend_from_slice(value);
}

/// Adds a field that is a message, which `write` writes.
pub(crate) fn message(out: &mut Vec<u8>, field: u64, write: impl FnOnce(&mut Vec<u8>)) {
    varint(out, field << 3 | 2);
    let at = out.len();
    // Most messages are so short that their length is one byte.
    out.push(0);
    write(out);
    let length = out.len() - at - 1;
    match (u8::try_from(length), out.get_mut(at)) {
        (Ok(short @ ..0x80), Some(place)) => *place = short,
        _ => {
            let mut long = Vec::new();
            varint(&mut long, length as u64);
            out.splice(at..=at, long);
        }
    }
}

/// A field that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    /// A value of four or eight bytes, which no message here needs.
    Fixed,
}

/// The fields of a message with their numbers, up to the first that is broken.
pub(crate) fn fields(mut rest: &[u8]) -> impl Iterator<Item = (u64, Field<'_>)> {
    std::iter::from_fn(move || {
        let key = read_varint(&mut rest)?;
        let field = match key & 7 {
            0 => Field::Number(read_varint(&mut rest)?),
            1 => take(&mut rest, 8).map(|_| Field::Fixed)?,
            2 => {
                let length = read_varint(&mut rest)?;
                Field::Bytes(take(&mut rest, usize::try_from(length).ok()?)?)
            }
            5 => take(&mut rest, 4).map(|_| Field::Fixed)?,
            _ => return None,
        };
        Some((key >> 3, field))
    })
}

fn read_varint(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let byte = take(rest, 1)?.first().copied()?;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, left) = rest.split_at_checked(length)?;
    *rest = left;
    Some(taken)
}
