//! A frame as a packet socket delivers it: `virtio_net_hdr`, Ethernet header, IP packet.

use roundtrip_wire::packet::ones_complement_sum;

use crate::direction::Direction;
use crate::rtnetlink::Mac;
use crate::side::{CLIENT, SERVER};

/// `virtio_net_hdr`: flags (1), segmentation type (1), header length (2), segment size (2),
/// checksum start (2) and offset (2).
const VIRTIO: usize = 10;
const ETHERNET: usize = 14;
pub(crate) const HEADERS: usize = VIRTIO + ETHERNET;

const NEEDS_CHECKSUM: u8 = 1;
const NOT_SEGMENTED: u8 = 0;

const IPV4: [u8; 2] = [0x08, 0x00];
const IPV6: [u8; 2] = [0x86, 0xdd];

/// Whether the frame carries an IP packet to this interface.
pub(crate) fn is_for(bytes: &[u8], destination: Mac) -> bool {
    bytes.get(VIRTIO..VIRTIO + 6) == Some(&destination)
        && bytes
            .get(VIRTIO + 12..HEADERS)
            .is_some_and(|kind| kind == IPV4 || kind == IPV6)
}

/// Wraps an IP packet that the path itself sends into a frame.
pub(crate) fn around(ip: &[u8], way: Direction) -> Vec<u8> {
    let (to, from) = match way {
        Direction::Up => (SERVER, CLIENT),
        Direction::Down => (CLIENT, SERVER),
    };
    let is_v6 = ip.first().is_some_and(|first| first >> 4 == 6);
    let kind = if is_v6 { IPV6 } else { IPV4 };
    [&[0; VIRTIO][..], &to.mac, &from.mac, &kind, ip].concat()
}

/// Completes the checksum that the sending stack left to its interface: so far it covers only the
/// pseudo-header. Super-segments are left unchanged, including their header; the kernel cuts and
/// completes them when they are sent.
pub(crate) fn complete_checksum(bytes: &mut [u8]) {
    let Some((header, frame)) = bytes.split_at_mut_checked(VIRTIO) else {
        return;
    };
    let &mut [flags, segmentation, _, _, _, _, a, b, c, d] = header else {
        return;
    };
    if segmentation != NOT_SEGMENTED {
        return;
    }
    if flags & NEEDS_CHECKSUM != 0 {
        let start = usize::from(u16::from_ne_bytes([a, b]));
        let offset = usize::from(u16::from_ne_bytes([c, d]));
        if let Some(covered) = frame.get_mut(start..) {
            write_checksum(covered, offset);
        }
    }
    header.fill(0);
}

fn write_checksum(covered: &mut [u8], offset: usize) {
    // Zero would mean "none" in UDP. All ones is equivalent, for TCP too (RFC 768, RFC 1071).
    let checksum = match !ones_complement_sum(covered) {
        0 => 0xffff,
        checksum => checksum,
    };
    if let Some(field) = covered.get_mut(offset..offset + 2) {
        field.copy_from_slice(&checksum.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: Mac = [2, 0, 0, 0, 0, 2];

    fn frame(payload: &[u8]) -> Vec<u8> {
        [&[0; VIRTIO][..], &US, &[0; 6], &IPV4, payload].concat()
    }

    #[test]
    fn only_ip_to_the_destination_is_carried() {
        assert!(is_for(&frame(b""), US));
        assert!(!is_for(&frame(b""), [0xff; 6]));
        let mut arp = frame(b"");
        arp[VIRTIO + 13] = 0x06;
        assert!(!is_for(&arp, US));
        assert!(!is_for(&frame(b"")[..20], US));
    }

    #[test]
    fn a_partial_checksum_is_completed() {
        // Five bytes are covered. The first two are the field, which holds the sum of the
        // pseudo-header.
        let mut bytes = frame(&[0x12, 0x34, 0x01, 0x02, 0x03]);
        bytes[0] = NEEDS_CHECKSUM;
        bytes[6..8].copy_from_slice(&(ETHERNET as u16).to_ne_bytes());
        complete_checksum(&mut bytes);
        assert_eq!(
            bytes[HEADERS..HEADERS + 2],
            (!(0x1234_u16 + 0x0102 + 0x0300)).to_be_bytes()
        );
        assert_eq!(bytes[..VIRTIO], [0; VIRTIO]);
    }

    #[test]
    fn offsets_beyond_the_frame_change_nothing() {
        let mut bytes = frame(&[1, 2, 3]);
        bytes[0] = NEEDS_CHECKSUM;
        bytes[6..10].fill(0xff);
        complete_checksum(&mut bytes);
        assert_eq!(bytes[HEADERS..], [1, 2, 3]);
    }
}
