//! Frames of Wi-Fi as a monitor hears them (IEEE 802.11 §9.3), behind the headers in which drivers
//! describe the reception. Encrypted frames stay closed.

use super::{llc, u16_le_at};

/// The first bits of a frame: the type of data frames, the subtypes without data and with a
/// priority, and flags.
const TYPE: u16 = 0x000c;
const DATA: u16 = 0x0008;
const EMPTY: u16 = 0x0040;
const WITH_PRIORITY: u16 = 0x0080;
const BETWEEN_STATIONS: u16 = 0x0300;
const ENCRYPTED: u16 = 0x4000;
const WITH_HT_CONTROL: u16 = 0x8000;
/// The bit of the priority field that says that several packets follow, each behind two addresses
/// and a length.
const AGGREGATED: u16 = 0x0080;
const AGGREGATE_HEADER: usize = 14;

/// The protocol and the content of an unencrypted data frame. Of aggregated packets, it is the
/// first.
pub(super) fn wireless(frame: &[u8]) -> Option<(u16, &[u8])> {
    let control = u16_le_at(frame, 0)?;
    let has = |bits: u16| control & bits == bits;
    if control & TYPE != DATA || has(EMPTY) || has(ENCRYPTED) {
        return None;
    }
    let mut header = if has(BETWEEN_STATIONS) { 30 } else { 24 };
    let mut aggregated = 0;
    if has(WITH_PRIORITY) {
        if u16_le_at(frame, header)? & AGGREGATED != 0 {
            aggregated = AGGREGATE_HEADER;
        }
        header += if has(WITH_HT_CONTROL) { 6 } else { 2 };
    }
    // Some drivers pad the header to a multiple of four bytes.
    let starts = [header, header.next_multiple_of(4)];
    let mut starts = starts.into_iter().map(|start| start + aggregated);
    starts.find_map(|start| llc(frame.get(start..)?))
}

/// What follows the radiotap header, which has a version, padding, and the length of the header.
pub(super) fn after_radiotap(frame: &[u8]) -> Option<&[u8]> {
    frame.get(usize::from(u16_le_at(frame, 2)?)..)
}

/// What follows the headers of Prism and AVS drivers. Both have their length after a code, in the
/// byte order of the host or of the network; both are shorter than 64 kB.
pub(super) fn after_prism(frame: &[u8]) -> Option<&[u8]> {
    let [.., a, b, c, d] = *frame.first_chunk::<8>()?;
    let length = u32::from_le_bytes([a, b, c, d]).min(u32::from_be_bytes([a, b, c, d]));
    frame.get(usize::try_from(length).ok()?..)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{found, ipv4};
    use super::*;

    fn frame(control: [u8; 2], rest: &[&[u8]]) -> Vec<u8> {
        let head = [&control[..], &[1; 22]].concat();
        let snap = [0xaa, 0xaa, 3, 0, 0, 0, 8, 0];
        let rest = rest.concat();
        [&head[..], &rest, &snap, &ipv4(6, &[0; 20])].concat()
    }

    #[test]
    fn what_a_monitor_heard_is_opened_if_it_was_not_encrypted() {
        let packet = Some((ipv4(6, &[0; 20]), None));
        let plain = frame([0x08, 0x01], &[]);
        for (link, head) in [
            (105, &[][..]),
            (127, &[0, 0, 10, 0, 9, 9, 9, 9, 9, 9]),
            (192, &[0, 0, 8, 0, 105, 0, 0, 0]),
            (119, &[0, 0, 0, 0x44, 12, 0, 0, 0, 1, 2, 3, 4]),
            (163, &[0x80, 0x21, 0x10, 1, 0, 0, 0, 12, 1, 2, 3, 4]),
        ] {
            assert_eq!(found(link, [head, &plain].concat()), packet, "link {link}");
        }
        for several in [
            frame([0x88, 0x01], &[&[0, 0]]),
            frame([0x88, 0x01], &[&[0, 0], &[0, 0]]),
            frame([0x88, 0x81], &[&[0, 0], &[1; 4]]),
            frame([0x88, 0x03], &[&[1; 6], &[0, 0]]),
            frame([0x88, 0x02], &[&[0x80, 0], &[2; AGGREGATE_HEADER]]),
        ] {
            assert_eq!(found(105, several), packet);
        }
        for closed in [[0x08, 0x41], [0x48, 0x01], [0x80, 0], [0xd4, 0]] {
            assert_eq!(found(105, frame(closed, &[])), None, "{closed:?}");
        }
    }
}
