//! SETTINGS. RFC 9114 §7.2.4.

use super::frame::{SETTINGS, read_varint, write_varint};
use super::{Code, ProtocolError};

const MAX_FIELD_SECTION_SIZE: u64 = 6;
/// RFC 9220 §3.
const ENABLE_CONNECT_PROTOCOL: u64 = 8;
/// RFC 9297 §2.1.1.
const H3_DATAGRAM: u64 = 0x33;

/// The settings that matter here. QPACK keeps its default, which is no dynamic table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Settings {
    /// The largest field section that the sender of the settings accepts, as RFC 9114 §4.2.2 counts
    /// it.
    pub max_field_section_size: Option<u64>,
}

impl Settings {
    pub(super) fn read(mut content: &[u8]) -> Result<Self, ProtocolError> {
        let mut settings = Self::default();
        let mut seen = Vec::new();
        while !content.is_empty() {
            let (name, value);
            (name, content) = next(content)?;
            (value, content) = next(content)?;
            if seen.contains(&name) {
                return Err(wrong("a setting that comes twice"));
            }
            seen.push(name);
            match name {
                // Settings of HTTP/2. RFC 9114 §7.2.4.1.
                0 | 2..=5 => return Err(wrong("a setting of HTTP/2")),
                MAX_FIELD_SECTION_SIZE => settings.max_field_section_size = Some(value),
                ENABLE_CONNECT_PROTOCOL | H3_DATAGRAM if value > 1 => {
                    return Err(wrong("a setting that is neither 0 nor 1"));
                }
                _ => {}
            }
        }
        Ok(settings)
    }

    /// Appends the frame.
    pub(super) fn write(self, out: &mut Vec<u8>) {
        let mut content = Vec::new();
        if let Some(size) = self.max_field_section_size {
            write_varint(&mut content, MAX_FIELD_SECTION_SIZE);
            write_varint(&mut content, size);
        }
        write_varint(out, SETTINGS);
        write_varint(out, content.len() as u64);
        out.append(&mut content);
    }
}

fn next(content: &[u8]) -> Result<(u64, &[u8]), ProtocolError> {
    let read = read_varint(content);
    let (value, length) = read.ok_or(ProtocolError {
        code: Code::H3_FRAME_ERROR,
        why: "a SETTINGS frame that ends within a setting",
    })?;
    Ok((value, content.get(length..).unwrap_or_default()))
}

fn wrong(why: &'static str) -> ProtocolError {
    ProtocolError {
        code: Code::H3_SETTINGS_ERROR,
        why,
    }
}
