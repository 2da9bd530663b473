//! Bytes of any kind: nothing panics, and the held data stays bounded.

use proptest::prelude::*;
use roundtrip_trace::{Options, Trace};
use roundtrip_wire::pcapng::{Captured, LinkType};

/// An IPv4 packet with a TCP segment.
fn segment(ports: (u16, u16), sequence: u32, flags: u8, payload: &[u8]) -> Vec<u8> {
    let length = 40 + payload.len();
    let mut bytes = vec![0x45, 0];
    bytes.extend((length as u16).to_be_bytes());
    bytes.extend([0, 1, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    bytes.extend(ports.0.to_be_bytes());
    bytes.extend(ports.1.to_be_bytes());
    bytes.extend(sequence.to_be_bytes());
    bytes.extend([0, 0, 0, 9, 0x50, flags, 1, 0, 0, 0, 0, 0]);
    bytes.extend(payload);
    bytes
}

fn captured(at: u64, data: Vec<u8>) -> Captured<'static> {
    Captured {
        interface: 0,
        link: LinkType::RAW,
        time: Some(at),
        original_length: data.len() as u32,
        data: data.into(),
        direction: None,
        comments: Vec::new(),
    }
}

proptest! {
    #[test]
    fn segments_in_any_order_with_any_bytes_are_survived(
        segments in prop::collection::vec(
            (any::<u64>(), any::<bool>(), any::<u32>(), any::<u8>(), prop::collection::vec(any::<u8>(), 0..200)),
            0..60,
        )
    ) {
        let mut trace = Trace::new(Options::default());
        for (at, turned, sequence, flags, payload) in segments {
            let ports = if turned { (443, 50_000) } else { (50_000, 443) };
            trace.push(&captured(at, segment(ports, sequence % 5000, flags, &payload)));
        }
        for conversation in trace.end().0 {
            for exchange in conversation.exchanges {
                prop_assert!(exchange.unexplained >= 0.0);
            }
        }
    }

    #[test]
    fn frames_of_any_bytes_are_survived(
        frames in prop::collection::vec((0_u16..280, prop::collection::vec(any::<u8>(), 0..300)), 0..40)
    ) {
        let mut trace = Trace::new(Options::default());
        let count = frames.len() as u64;
        for (at, (link, bytes)) in frames.into_iter().enumerate() {
            let mut frame = captured(at as u64, bytes);
            frame.link = LinkType(link);
            trace.push(&frame);
        }
        prop_assert_eq!(trace.end().1.frames, count);
    }
}

#[test]
fn a_flood_of_connections_stays_within_its_memory() {
    let mut trace = Trace::new(Options {
        memory: 1 << 20,
        ..Options::default()
    });
    let mut told = 0;
    for n in 0..60_000_u32 {
        let ports = (1024 + (n % 60_000) as u16, 443);
        let syn = segment(ports, 7, 2, &[]);
        trace.push(&captured(u64::from(n) * 1_000_000, syn));
        told += trace.finished().len();
    }
    let counts = trace.counts();
    assert!(counts.given_up > 50_000, "{counts:?}");
    assert!(told > 50_000, "{told}");
}
