//! Captures in the older format.

use proptest::collection::vec;
use proptest::prelude::*;
use roundtrip_wire::pcap::PcapReader;
use roundtrip_wire::pcapng::LinkType;

/// One packet of three bytes, one microsecond (or nanosecond) after 1970 began, in big-endian
/// order.
fn capture(magic: u32) -> Vec<u8> {
    let words = [magic, 0x0002_0004, 0, 0, 65_535, 101, 2, 1, 3, 60];
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
    bytes.extend([7, 8, 9]);
    bytes
}

#[test]
fn of_both_units() {
    for (magic, time) in [(0xa1b2_c3d4, 2_000_001_000), (0xa1b2_3c4d, 2_000_000_001)] {
        let bytes = capture(magic);
        assert!(PcapReader::recognises(&bytes));
        let mut reader = PcapReader::new(&bytes).unwrap();
        assert_eq!(
            (reader.header.link, reader.header.snap_length),
            (LinkType::RAW, 65_535)
        );
        let packet = reader.next().unwrap().unwrap();
        assert_eq!(packet.time, Some(time));
        assert_eq!(
            (&*packet.data, packet.original_length),
            (&[7, 8, 9][..], 60)
        );
        assert!(reader.next().is_none());
    }
}

#[test]
fn of_the_other_byte_order() {
    let mut bytes = capture(0xa1b2_c3d4);
    bytes[4..8].copy_from_slice(&[0, 4, 0, 2]);
    for word in bytes.as_chunks_mut::<4>().0.iter_mut().take(10) {
        word.reverse();
    }
    let packet = PcapReader::new(&bytes).unwrap().next().unwrap().unwrap();
    assert_eq!((packet.time, packet.data.len()), (Some(2_000_001_000), 3));
}

#[test]
fn against_the_rules() {
    assert!(PcapReader::new(&capture(0xa1b2_c3d5)).is_err());
    let bytes = capture(0xa1b2_c3d4);
    let mut cut = PcapReader::new(&bytes[..42]).unwrap();
    assert!(cut.next().unwrap().is_err() && cut.next().is_none());
    let mut version = bytes.clone();
    version[5] = 3;
    assert!(PcapReader::new(&version).is_err());
    assert!(PcapReader::new(&bytes[..23]).is_err());
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_panic(tail in vec(any::<u8>(), 0..100), with_head in any::<bool>()) {
        let mut bytes = if with_head { capture(0xa1b2_c3d4) } else { Vec::new() };
        bytes.extend(tail);
        if let Ok(packets) = PcapReader::new(&bytes) {
            prop_assert!(packets.count() <= bytes.len() / 16 + 1);
        }
    }
}
