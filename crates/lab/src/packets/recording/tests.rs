//! Reads artificial recordings, built packet by packet.

use roundtrip_wire::packet::{IpHeader, TCP, compose};
use roundtrip_wire::pcapng::{Interface, LinkType, PcapngWriter, Section};

use super::super::{arrived_twice, sent_twice};
use super::*;

const SYN: u8 = 0x02;
const ACK: u8 = 0x10;
const COOKIE: [u8; 8] = [34, 6, 1, 2, 3, 4, 1, 1];

/// A segment: flags, sequence number, acknowledgment, options, payload.
struct Segment<'a>(u8, u32, u32, &'a [u8], &'a [u8]);

fn segment(from: PacketEnd, port: u16, of: &Segment<'_>) -> Vec<u8> {
    let Segment(flags, sequence, acknowledgment, options, payload) = of;
    let (client, server): (IpAddr, IpAddr) = ([198, 18, 0, 1].into(), [198, 18, 0, 2].into());
    let (source, destination, ports) = match from {
        PacketEnd::Client => (client, server, [port, 80]),
        PacketEnd::Server => (server, client, [80, port]),
    };
    let mut bytes: Vec<u8> = ports.iter().flat_map(|port| port.to_be_bytes()).collect();
    bytes.extend(sequence.to_be_bytes());
    bytes.extend(acknowledgment.to_be_bytes());
    let words = 5 + options.len() / 4;
    bytes.extend([(words << 4) as u8, *flags]);
    bytes.extend([0xff, 0xff, 0, 0, 0, 0]);
    bytes.extend(*options);
    bytes.extend(*payload);
    compose(&IpHeader::new(source, destination, TCP), &bytes).unwrap()
}

/// Writes a recording for tests: for each packet, the millisecond, the end, whether it arrives
/// there, its bytes and a comment.
struct Tape(PcapngWriter);

impl Tape {
    fn new() -> Self {
        let mut writer = PcapngWriter::new(&Section::default()).unwrap();
        for _ in ENDS {
            let interface = Interface {
                link: LinkType::RAW,
                snap_length: 0,
                name: None,
                description: None,
                comments: Vec::new(),
            };
            writer.interface(&interface).unwrap();
        }
        Self(writer)
    }

    fn see(
        &mut self,
        ms: u64,
        end: PacketEnd,
        arrives: bool,
        packet: &[u8],
        comments: &[&'static str],
    ) {
        let captured = Captured {
            interface: u32::from(end == PacketEnd::Server),
            link: LinkType::RAW,
            time: Some(1_700_000_000_000_000_000 + ms * 1_000_000),
            original_length: packet.len() as u32,
            data: packet.to_vec().into(),
            direction: Some(if arrives {
                PacketDirection::Inbound
            } else {
                PacketDirection::Outbound
            }),
            comments: comments.iter().map(|said| (*said).into()).collect(),
        };
        self.0.packet(&captured).unwrap();
    }

    /// Writes a packet that takes 10 ms from one end to the other.
    fn cross(&mut self, ms: u64, from: PacketEnd, port: u16, of: &Segment<'_>) {
        let packet = segment(from, port, of);
        self.see(ms, from, false, &packet, &["delivered after 10.000 ms"]);
        let to = if from == PacketEnd::Client {
            PacketEnd::Server
        } else {
            PacketEnd::Client
        };
        self.see(ms + 10, to, true, &packet, &[]);
    }

    fn read(mut self) -> Vec<TracedPacket> {
        read(&self.0.take()).unwrap()
    }
}

fn described(packets: &[TracedPacket]) -> Vec<(usize, Option<f64>, Option<f64>, String)> {
    let one = |p: &TracedPacket| (p.connection, p.sent_ms, p.arrived_ms, p.describe());
    packets.iter().map(one).collect()
}

#[test]
fn packets_of_one_end_are_found_at_the_other() {
    let mut tape = Tape::new();
    tape.cross(
        0,
        PacketEnd::Client,
        5000,
        &Segment(SYN, 99, 0, &COOKIE, b"hello\n"),
    );
    tape.cross(
        10,
        PacketEnd::Server,
        5000,
        &Segment(SYN | ACK, 7, 106, &[], b""),
    );
    tape.cross(
        20,
        PacketEnd::Server,
        5000,
        &Segment(ACK, 8, 106, &[], b"hello\n"),
    );
    tape.cross(
        25,
        PacketEnd::Client,
        5001,
        &Segment(SYN, 4, 0, &[34, 2, 1, 1], b""),
    );
    let packets = tape.read();
    let told = |connection, sent: f64, what: &str| {
        (connection, Some(sent), Some(sent + 10.0), what.to_owned())
    };
    assert_eq!(
        described(&packets),
        [
            told(0, 0.0, "SYN, shows its cookie, 6 bytes"),
            told(0, 10.0, "SYN+ACK, acknowledges 6 bytes of the SYN"),
            told(0, 20.0, "data, 6 bytes"),
            told(1, 25.0, "SYN, asks for a cookie"),
        ]
    );
    assert!(packets.iter().all(|packet| packet.path.is_empty()));
    assert_eq!((sent_twice(&packets), arrived_twice(&packets)), (0, 0));
}

#[test]
fn lost_packets_are_sent_twice_and_arrive_once() {
    let mut tape = Tape::new();
    let syn = segment(
        PacketEnd::Client,
        5000,
        &Segment(SYN, 99, 0, &COOKIE, b"hello\n"),
    );
    tape.see(0, PacketEnd::Client, false, &syn, &["lost: drop-syn-data"]);
    tape.cross(
        1000,
        PacketEnd::Client,
        5000,
        &Segment(SYN, 99, 0, &[], b""),
    );
    tape.cross(
        1010,
        PacketEnd::Server,
        5000,
        &Segment(SYN | ACK, 7, 100, &[], b""),
    );
    tape.cross(
        1020,
        PacketEnd::Client,
        5000,
        &Segment(ACK, 100, 8, &[], b"hello\n"),
    );
    let packets = tape.read();
    assert!(packets[0].is_lost());
    assert_eq!(packets[0].path, ["lost: drop-syn-data"]);
    assert_eq!(packets[1].describe(), "SYN, again");
    assert_eq!(packets[2].describe(), "SYN+ACK");
    assert_eq!(packets[3].describe(), "data, 6 bytes, again");
    assert_eq!((sent_twice(&packets), arrived_twice(&packets)), (6, 0));
}

#[test]
fn a_copy_that_the_path_makes_is_not_the_client_s() {
    let mut tape = Tape::new();
    let of = Segment(SYN, u32::MAX, 0, &COOKIE, b"hello\n");
    tape.cross(0, PacketEnd::Client, 5000, &of);
    let twin = segment(PacketEnd::Client, 5000, &of);
    tape.see(
        10,
        PacketEnd::Server,
        true,
        &twin,
        &["the path's own copy of a SYN"],
    );
    // Sequence numbers wrap around.
    tape.cross(30, PacketEnd::Client, 5000, &Segment(ACK, 6, 8, &[], b"a"));
    let packets = tape.read();
    assert_eq!(packets.len(), 3);
    assert_eq!(
        (packets[1].sent_ms, packets[1].arrived_ms),
        (None, Some(10.0))
    );
    assert!(!packets[1].again);
    assert_eq!(packets[1].path, ["the path's own copy of a SYN"]);
    assert_eq!((sent_twice(&packets), arrived_twice(&packets)), (0, 6));
}

#[test]
fn garbage_is_refused_and_other_packets_are_skipped() {
    assert!(read(b"no recording").is_err());
    let mut tape = Tape::new();
    tape.see(0, PacketEnd::Client, false, b"garbage", &[]);
    assert_eq!(tape.read(), []);
}
