//! Writes field sections without a dynamic table: with the static table if it has the line or the
//! name, and with Huffman's code if that is shorter.

use super::huffman;
use super::table::find;
use crate::static_index::Found;

/// Begins a section: Required Insert Count and Base are 0. RFC 9204 §4.5.1.
pub fn begin_section(out: &mut Vec<u8>) {
    out.extend_from_slice(&[0, 0]);
}

/// Appends a line to a section. The name is written in lower case. RFC 9204 §4.5.2, §4.5.4 and
/// §4.5.6.
pub fn write_line(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    match find(name, value) {
        Found::Line(index) => return integer(out, 0xc0, 6, index),
        Found::Name(index) => integer(out, 0x50, 4, index),
        Found::Nothing => {
            integer(out, 0x20, 3, name.len());
            let start = out.len();
            out.extend_from_slice(name);
            out.iter_mut()
                .skip(start)
                .for_each(u8::make_ascii_lowercase);
        }
    }
    self::value(out, value);
}

/// A string with its length, in the shorter of both forms. RFC 7541 §5.2.
pub(crate) fn value(out: &mut Vec<u8>, value: &[u8]) {
    let coded = huffman::encoded_length(value);
    if coded < value.len() {
        integer(out, 0x80, 7, coded);
        huffman::encode(value, out);
    } else {
        integer(out, 0, 7, value.len());
        out.extend_from_slice(value);
    }
}

/// An integer in the low `bits` of a byte whose other bits are `flags`, and in the bytes after it.
/// RFC 7541 §5.1.
pub(crate) fn integer(out: &mut Vec<u8>, flags: u8, bits: u32, value: usize) {
    let most = (1 << bits) - 1;
    let Some(mut rest) = value.checked_sub(most) else {
        return out.push(flags | value as u8);
    };
    out.push(flags | most as u8);
    while rest >= 0x80 {
        out.push(0x80 | rest as u8);
        rest >>= 7;
    }
    out.push(rest as u8);
}
