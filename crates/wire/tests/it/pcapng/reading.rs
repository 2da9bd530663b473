//! Captures by other programs, and invalid ones.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use roundtrip_wire::pcapng::{
    Block, Captured, Interface, LinkType, PacketDirection, PcapngReader, PcapngWriter, Section,
    Statistics,
};

fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let length = (12 + body.len() as u32).to_be_bytes();
    [&kind.to_be_bytes(), &length, body, &length].concat()
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// In big-endian order, without options.
fn section() -> Vec<u8> {
    block(
        0x0a0d_0d0a,
        &words(&[0x1a2b_3c4d, 0x0001_0000, u32::MAX, u32::MAX]),
    )
}

/// Ethernet, at most four bytes of a packet, milliseconds that start ten seconds after 1970 began.
fn interface() -> Vec<u8> {
    let resolution = [0x0009_0001, 0x0300_0000];
    let offset = [0x000e_0008, 0, 10];
    let fixed = [0x0001_0000, 4];
    block(
        1,
        &words(&[&fixed[..], &resolution, &offset, &[0]].concat()),
    )
}

fn packets(capture: &[u8]) -> Vec<Captured<'_>> {
    let packet = |block| match block {
        Ok(Block::Packet(packet)) => Some(packet),
        Ok(_) => None,
        Err(error) => panic!("{error}"),
    };
    PcapngReader::new(capture).filter_map(packet).collect()
}

#[test]
fn all_blocks_with_packets() {
    let enhanced = block(6, &words(&[0, 0, 1500, 3, 60, 0x0708_0900]));
    let simple = block(3, &words(&[60, 0x0102_0304]));
    let old = block(2, &words(&[0x0000_0009, 0, 7, 4, 4, 0x0a0b_0c0d]));
    let names = block(4, &words(&[0]));
    let capture = [section(), interface(), enhanced, names, simple, old].concat();
    let read = packets(&capture);
    assert_eq!(read.len(), 3);
    assert_eq!(read[0].time, Some(11_500_000_000));
    assert_eq!(
        (&*read[0].data, read[0].original_length),
        (&[7, 8, 9][..], 60)
    );
    assert_eq!(read[0].link, LinkType::ETHERNET);
    assert_eq!((read[1].time, &*read[1].data), (None, &[1, 2, 3, 4][..]));
    assert_eq!(read[1].original_length, 60);
    assert_eq!(read[2].time, Some(10_007_000_000));
    assert_eq!(&*read[2].data, [10, 11, 12, 13]);
}

#[test]
fn each_section_describes_its_own_interfaces() {
    let packet = block(6, &words(&[0, 0, 1, 0, 0]));
    let capture = [section(), interface(), packet.clone(), section(), packet].concat();
    let read: Vec<_> = PcapngReader::new(&capture).collect();
    assert_eq!(read.len(), 5);
    assert!(read[..4].iter().all(Result::is_ok) && read[4].is_err());
}

#[test]
fn against_the_rules() {
    let is_refused = |capture: &[u8]| PcapngReader::new(capture).last().unwrap().is_err();
    assert!(!is_refused(&section()));
    assert!(is_refused(&interface()), "no section in front");
    assert!(is_refused(&section()[..20]));
    let spoilt = |at: usize, byte: u8| {
        let mut bytes = [section(), interface()].concat();
        bytes[at] = byte;
        is_refused(&bytes)
    };
    assert!(!spoilt(1, 0x0d));
    assert!(spoilt(7, 30), "a length that is no multiple of four");
    assert!(spoilt(7, 8), "a length below its frame");
    assert!(spoilt(27, 32), "two lengths that differ");
    assert!(spoilt(8, 0x1b), "another magic number");
    assert!(spoilt(13, 2), "another version");
    assert!(spoilt(47, 200), "an option beyond its block");
    let beyond = block(6, &words(&[0, 0, 1, 5, 5, 0]));
    assert!(is_refused(&[section(), interface(), beyond].concat()));
    let huge = [section(), words(&[6, 0xffff_fffc, 0])].concat();
    assert!(is_refused(&huge));
}

/// One block of each kind.
fn written() -> Vec<u8> {
    let mut writer = PcapngWriter::new(&Section {
        application: Some("roundtrip".into()),
        comments: vec!["one".into()],
        ..Section::default()
    })
    .unwrap();
    let link = LinkType::RAW;
    let interface = writer.interface(&Interface {
        link,
        snap_length: 0,
        name: Some("lo".into()),
        description: None,
        comments: vec![],
    });
    let interface = interface.unwrap();
    let packet = Captured {
        interface,
        link,
        time: Some(5),
        original_length: 3,
        data: (&[1, 2, 3][..]).into(),
        direction: Some(PacketDirection::Inbound),
        comments: vec!["two".into()],
    };
    writer.packet(&packet).unwrap();
    let statistics = Statistics {
        interface,
        time: Some(6),
        received: Some(1),
        ..Statistics::default()
    };
    writer.statistics(&statistics).unwrap();
    writer.take()
}

#[test]
fn unwritable_packets_are_an_error() {
    let mut writer = PcapngWriter::new(&Section::default()).unwrap();
    let mut packet = Captured {
        interface: 0,
        link: LinkType::RAW,
        time: Some(1),
        original_length: 0,
        data: vec![].into(),
        direction: None,
        comments: vec![],
    };
    assert!(writer.packet(&packet).is_err(), "no interface");
    let interface = Interface {
        link: LinkType::RAW,
        snap_length: 0,
        name: None,
        description: None,
        comments: vec![],
    };
    assert_eq!(writer.interface(&interface), Ok(0));
    writer.take();
    assert!(writer.packet(&packet).is_ok());
    let length = writer.take().len();
    packet.time = None;
    assert!(writer.packet(&packet).is_err(), "no time");
    packet.time = Some(1);
    packet.comments = vec!["x".repeat(65_536).into()];
    assert!(writer.packet(&packet).is_err(), "a long comment");
    packet.comments = vec!["x".repeat(65_535).into(); 257];
    assert!(writer.packet(&packet).is_err(), "many long comments");
    packet.comments = vec![];
    packet.data = vec![0; 262_145].into();
    assert!(writer.packet(&packet).is_err(), "a long packet");
    assert_eq!(
        (writer.take().len(), length),
        (0, 32),
        "nothing is half written"
    );
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_panic(tail in vec(any::<u8>(), 0..100)) {
        let _ = PcapngReader::new(&tail).count();
        let capture = [section(), interface(), tail].concat();
        prop_assert!(PcapngReader::new(&capture).count() <= capture.len() / 12 + 1);
    }

    #[test]
    fn valid_captures_spoilt_are_read_without_panic(
        changes in vec((any::<Index>(), any::<u8>()), 1..6),
        end in proptest::option::of(any::<Index>()),
    ) {
        let mut bytes = written();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(end) = end {
            bytes.truncate(end.index(bytes.len()));
        }
        prop_assert!(PcapngReader::new(&bytes).count() <= bytes.len() / 12 + 1);
    }
}
