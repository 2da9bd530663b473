//! Connections over IPv6, whose packets have no numbers: what their flow labels show.

use roundtrip_trace::{Options, Trace};
use roundtrip_wire::pcapng::{Captured, LinkType};

const SYN: u8 = 2;
const ACK: u8 = 16;

/// When it is captured (in ms), its side, label, numbers, flags and data.
type Drawn<'a> = (f64, usize, u32, [u32; 2], u8, &'a [u8]);

/// A packet between the client (side 0) and the server.
fn packet(
    side: usize,
    label: u32,
    [sequence, acknowledged]: [u32; 2],
    flags: u8,
    data: &[u8],
) -> Vec<u8> {
    let mut bytes = (0x6000_0000 | label).to_be_bytes().to_vec();
    bytes.extend((20 + data.len() as u16).to_be_bytes());
    bytes.extend([6, 64]);
    for end in [side, 1 - side] {
        bytes.extend([
            0x20,
            1,
            0xd,
            0xb8,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            1 + end as u8,
        ]);
    }
    for end in [side, 1 - side] {
        bytes.extend([50_000_u16, 80][end].to_be_bytes());
    }
    bytes.extend(sequence.to_be_bytes());
    bytes.extend(acknowledged.to_be_bytes());
    bytes.extend([0x50, flags, 0xea, 0x60, 0, 0, 0, 0]);
    bytes.extend(data);
    bytes
}

/// The first finding, in ms, if the answer comes 600 ms after the acknowledgement of the request
/// and the server's packets have these labels: those of the opening, of the answer, and of the
/// packets after it.
fn named(labels: [u32; 5]) -> Option<(&'static str, f64)> {
    const ASKED: &[u8] = b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n";
    const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
    let (asked, answered) = (101 + ASKED.len() as u32, 901 + ANSWER.len() as u32);
    let mut trace = Trace::new(Options::default());
    let all: [Drawn<'_>; 9] = [
        (0.0, 0, 7, [100, 0], SYN, b""),
        (40.0, 1, labels[0], [900, 101], SYN | ACK, b""),
        (40.1, 0, 7, [101, 901], ACK, b""),
        (40.2, 0, 7, [101, 901], ACK, ASKED),
        (80.3, 1, labels[1], [901, asked], ACK, b""),
        (680.0, 1, labels[2], [901, asked], ACK, ANSWER),
        (680.1, 0, 7, [asked, answered], ACK, b""),
        (720.0, 1, labels[3], [answered, asked], ACK, b""),
        (760.0, 1, labels[4], [answered, asked], ACK | 1, b""),
    ];
    for (ms, side, label, numbers, flags, data) in all {
        let data = packet(side, label, numbers, flags, data);
        trace.push(&Captured {
            interface: 0,
            link: LinkType::RAW,
            time: Some((1e15 + ms * 1e6) as u64),
            original_length: data.len() as u32,
            data: data.into(),
            direction: None,
            comments: Vec::new(),
        });
    }
    let (conversations, _) = trace.end();
    let finding = conversations[0].exchanges[0].findings.first()?;
    Some((finding.id, finding.ms.round()))
}

/// The label changed, as Linux changes it when its retransmission timer fires.
#[test]
fn another_flow_label_shows_that_the_servers_timer_fired() {
    assert_eq!(
        named([5, 5, 6, 6, 6]),
        Some(("response-segment-lost", 600.0))
    );
    assert_eq!(named([5; 5]), Some(("server-think-time", 600.0)));
    // Labels that are drawn for each packet, or that are missing, show nothing.
    assert_eq!(named([1, 2, 3, 4, 5]), Some(("server-think-time", 600.0)));
    assert_eq!(named([0; 5]), Some(("server-think-time", 600.0)));
}
