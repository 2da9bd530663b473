//! The recording of a crossing is correct.

use std::net::UdpSocket;
use std::time::Duration;

use roundtrip_path::{Direction, Path};
use roundtrip_wire::packet::Packet;
use roundtrip_wire::pcapng::{self, Block, Captured, PcapngReader};

fn blocks(bytes: &[u8]) -> Vec<Captured<'_>> {
    let mut packets = Vec::new();
    for block in PcapngReader::new(bytes) {
        if let Block::Packet(packet) = block.unwrap() {
            packets.push(packet);
        }
    }
    packets
}

#[test]
fn each_packet_is_recorded_at_both_ends_with_its_fate() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("crossing.pcapng");
    let path = Path::builder()
        .rtt(Duration::from_millis(10))
        .drop_nth(Direction::Up, 2)
        .record(&file)
        .build()
        .unwrap();
    let open = |side: &roundtrip_path::Namespace| {
        let address = (side.address_v4(), 4000);
        side.run(|| UdpSocket::bind(address)).unwrap().unwrap()
    };
    let (client, server) = (open(path.client()), open(path.server()));
    for number in 1..=3_u8 {
        client
            .send_to(&[number; 9], server.local_addr().unwrap())
            .unwrap();
    }
    let mut buffer = [0; 100];
    for _ in 0..2 {
        server
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        server.recv(&mut buffer).unwrap();
    }
    path.close().unwrap();

    let bytes = std::fs::read(&file).unwrap();
    let packets = blocks(&bytes);
    let seen: Vec<(u32, u8, &str)> = packets
        .iter()
        .map(|packet| {
            let number = Packet::parse(&packet.data)
                .unwrap()
                .udp()
                .unwrap()
                .payload()[0];
            let comment = packet
                .comments
                .last()
                .map_or("", |comment| comment.as_ref());
            (
                packet.interface,
                number,
                comment.split(" after").next().unwrap_or(""),
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            (0, 1, "delivered"),
            (0, 2, "lost: loss"),
            (0, 3, "delivered"),
            (1, 1, ""),
            (1, 3, "")
        ]
    );
    let time = |place: usize| packets[place].time.unwrap();
    let took = Duration::from_nanos(time(3) - time(0));
    assert!(took >= Duration::from_millis(5), "{took:?}");
    assert_eq!(
        packets[0].direction,
        Some(pcapng::PacketDirection::Outbound)
    );
    assert_eq!(packets[3].direction, Some(pcapng::PacketDirection::Inbound));
}

#[test]
fn an_unwritable_file_is_reported_before_the_path_is_built() {
    let error = Path::builder()
        .record("/none/such/file")
        .build()
        .unwrap_err();
    assert!(error.to_string().contains("/none/such/file"), "{error}");
}
