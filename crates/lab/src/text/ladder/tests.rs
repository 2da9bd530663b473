//! Ladders of artificial packets. The expected text is fixed, so that a change is noticed.

use roundtrip_wire::packet::Flags;

use super::*;
use crate::packets::{FastOpen, PacketProtocol};

fn packet(connection: usize, from: PacketEnd, times: (f64, f64), flags: Flags) -> TracedPacket {
    TracedPacket {
        connection,
        from,
        sent_ms: Some(times.0),
        arrived_ms: Some(times.1),
        kind: PacketProtocol::Tcp(flags),
        fast_open: None,
        bytes: 0,
        again: false,
        acknowledges: None,
        path: Vec::new(),
        repeated: crate::packets::Repeated::default(),
    }
}

pub(crate) fn sample() -> Vec<TracedPacket> {
    let (client, server) = (PacketEnd::Client, PacketEnd::Server);
    let (syn, ack) = (Flags::SYN, Flags::ACK);
    let push = ack | Flags::PSH;
    vec![
        TracedPacket {
            fast_open: Some(FastOpen::Asks),
            path: vec!["source rewritten".into()],
            ..packet(0, client, (0.0, 85.0), syn)
        },
        TracedPacket {
            fast_open: Some(FastOpen::Cookie),
            ..packet(0, server, (85.1, 170.1), syn | ack)
        },
        packet(0, client, (170.2, 255.2), ack),
        TracedPacket {
            bytes: 93,
            path: vec!["source rewritten".into()],
            ..packet(0, client, (170.3, 255.3), push)
        },
        packet(0, client, (171.0, 256.0), ack | Flags::FIN),
        TracedPacket {
            fast_open: Some(FastOpen::Cookie),
            bytes: 93,
            arrived_ms: None,
            path: vec!["lost: drop-syn-data".into()],
            ..packet(1, client, (342.0, 0.0), syn)
        },
        TracedPacket {
            again: true,
            ..packet(1, client, (1351.0, 1436.0), syn)
        },
        TracedPacket {
            sent_ms: None,
            again: true,
            acknowledges: Some(93),
            path: vec!["the path's own".into()],
            ..packet(1, server, (0.0, 1521.0), syn | ack)
        },
    ]
}

#[test]
fn times_are_at_the_ends_with_arrows_between() {
    let style = Style {
        width: 80,
        ..Style::default()
    };
    let expected = "  packets of twice, in ms since the first
     client                                                          server
        0.0 ─ SYN, asks for a cookie ──────────────────────────────▶ 85.0
              source rewritten
      170.1 ◀───────────────────────────── SYN+ACK, gives a cookie ─ 85.1
      170.3 ─ data, 93 bytes ──────────────────────────────────────▶ 255.3

      342.0 ─ SYN, shows its cookie, 93 bytes ──────────✗
              lost: drop-syn-data
     1351.0 ─ SYN, again ──────────────────────────────────────────▶ 1436.0
     1521.0 ◀──── SYN+ACK, acknowledges 93 bytes of the SYN, again ─
              the path's own
              left out: 2 that only acknowledge or close
";
    assert_eq!(ladder("twice", &sample(), style), expected);
}

#[test]
fn a_narrow_terminal_without_unicode_shows_a_ladder_too() {
    let style = Style {
        width: 40,
        unicode: false,
        ..Style::default()
    };
    let drawn = ladder("twice", &sample(), style);
    assert!(drawn.is_ascii(), "{drawn}");
    let first = drawn.lines().nth(2).unwrap();
    assert_eq!(
        first,
        "        0.0 - SYN, asks for a cookie --------------> 85.0"
    );
}
