//! A written capture reads the same, in either byte order.

use std::borrow::Cow;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use roundtrip_wire::pcapng::{
    Block, ByteOrder, Captured, Interface, LinkType, PacketDirection, PcapngReader, PcapngWriter,
    Section, Statistics,
};

fn text() -> impl Strategy<Value = Cow<'static, str>> {
    // A zero at the end is taken for a terminator.
    "[^\0]{0,20}".prop_map(Cow::Owned)
}

fn comments() -> impl Strategy<Value = Vec<Cow<'static, str>>> {
    vec(text(), 0..4)
}

fn section() -> impl Strategy<Value = Section<'static>> {
    let texts = (option::of(text()), option::of(text()), option::of(text()));
    (texts, comments()).prop_map(|((hardware, system, application), comments)| Section {
        hardware,
        system,
        application,
        comments,
    })
}

fn interface() -> impl Strategy<Value = Interface<'static>> {
    let texts = (option::of(text()), option::of(text()), comments());
    (any::<u16>(), any::<u32>(), texts).prop_map(
        |(link, snap_length, (name, description, comments))| Interface {
            link: LinkType(link),
            snap_length,
            name,
            description,
            comments,
        },
    )
}

/// On any of these interfaces.
fn on(interfaces: Vec<Interface<'static>>) -> impl Strategy<Value = Block<'static>> {
    let directions = [
        None,
        Some(PacketDirection::Inbound),
        Some(PacketDirection::Outbound),
    ];
    let direction = proptest::sample::select(directions.to_vec());
    let data = vec(any::<u8>(), 0..50);
    let packet = (any::<u64>(), any::<u32>(), data, direction, comments());
    let counts = (
        any::<u64>(),
        option::of(any::<u64>()),
        option::of(any::<u64>()),
    );
    let index = 0..interfaces.len();
    (index, any::<bool>(), packet, counts).prop_map(
        move |(at, is_packet, (time, original_length, data, direction, comments), counts)| {
            let interface = at as u32;
            if is_packet {
                return Block::Packet(Captured {
                    interface,
                    link: interfaces[at].link,
                    time: Some(time),
                    original_length,
                    data: data.into(),
                    direction,
                    comments,
                });
            }
            Block::Statistics(Statistics {
                interface,
                time: Some(counts.0),
                received: counts.1,
                dropped: counts.2,
                comments,
            })
        },
    )
}

proptest! {
    #[test]
    fn written_and_read_again(
        order in prop_oneof![Just(ByteOrder::Little), Just(ByteOrder::Big)],
        section in section(),
        (interfaces, blocks) in vec(interface(), 1..4).prop_flat_map(|interfaces| {
            let blocks = vec(on(interfaces.clone()), 0..8);
            (Just(interfaces), blocks)
        }),
    ) {
        let mut writer = PcapngWriter::in_order(order, &section).unwrap();
        let mut bytes = writer.take();
        for (number, interface) in interfaces.iter().enumerate() {
            prop_assert_eq!(writer.interface(interface), Ok(number as u32));
        }
        for block in &blocks {
            match block {
                Block::Packet(packet) => writer.packet(packet).unwrap(),
                Block::Statistics(statistics) => writer.statistics(statistics).unwrap(),
                other => panic!("{other:?}"),
            }
        }
        bytes.extend(writer.take());
        prop_assert!(PcapngReader::recognises(&bytes));
        let mut expected = vec![Block::Section(section)];
        expected.extend(interfaces.into_iter().map(Block::Interface));
        expected.extend(blocks);
        let read: Result<Vec<_>, _> = PcapngReader::new(&bytes).collect();
        prop_assert_eq!(read, Ok(expected));
    }
}
