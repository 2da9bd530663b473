//! Decides how much stream data fits into the rest of a packet, and how its frame states the
//! length. RFC 9000 §19.8.

use roundtrip_wire::quic::{Pen, stream_header_size, varint_size, write_stream_header};

/// If only part of the data fits, a frame with less of it than this waits for the next packet.
const MIN_MORE: usize = 16;

pub(super) struct Fit {
    /// PADDING in front of the frame, if the data fills the packet except for a byte or two, and
    /// would not fit together with a length field.
    pub(super) padding: usize,
    pub(super) length: usize,
    /// Whether the frame has a length field; otherwise it fills the packet.
    pub(super) with_length: bool,
}

impl Fit {
    /// Fits at most `most` bytes into `room`.
    #[inline]
    pub(super) fn find(room: usize, id: u64, offset: u64, most: u64) -> Option<Self> {
        let space = room.checked_sub(stream_header_size(id, offset, None))?;
        let most = most.min(u64::from(u16::MAX)) as usize;
        if most > space {
            return (space >= MIN_MORE).then_some(Self {
                padding: 0,
                length: space,
                with_length: false,
            });
        }
        let with_length = most + varint_size(most as u64) <= space;
        Some(Self {
            padding: if with_length { 0 } else { space - most },
            length: most,
            with_length,
        })
    }

    /// Writes the frame's fields before the data.
    #[inline]
    pub(super) fn write_header(&self, pen: &mut Pen<'_>, id: u64, offset: u64, fin: bool) {
        if self.with_length {
            write_stream_header(pen, id, offset, Some(self.length as u16), fin);
            return;
        }
        if self.padding > 0 {
            pen.zeros(self.padding);
        }
        write_stream_header(pen, id, offset, None, fin);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(room: usize, most: u64) -> Option<(usize, usize, bool)> {
        // Type, id and a two-byte offset.
        Fit::find(room, 0, 1000, most).map(|fit| (fit.padding, fit.length, fit.with_length))
    }

    #[test]
    fn a_frame_fills_the_packet_or_tells_its_length() {
        assert_eq!(find(104, 1 << 40), Some((0, 100, false)));
        assert_eq!(find(104, 101), Some((0, 100, false)));
        assert_eq!(find(104, 100), Some((0, 100, false)));
        // A length field would take two bytes, so there is padding in front instead.
        assert_eq!(find(104, 99), Some((1, 99, false)));
        assert_eq!(find(104, 98), Some((0, 98, true)));
        assert_eq!(find(104, 0), Some((0, 0, true)));
        assert_eq!(find(4, 0), Some((0, 0, false)));
        assert_eq!(find(3, 0), None);
        assert_eq!(find(4, 1), None);
        assert_eq!(find(5, 1), Some((0, 1, false)));
        assert_eq!(find(10, 7), None);
        assert_eq!(find(100_000, 90_000), Some((0, 65_535, true)));
    }
}
