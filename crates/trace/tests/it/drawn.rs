//! Connections that are drawn packet by packet, for what no emulated path does: captures that begin
//! in the middle, programs that do not read, and clients that are slow in between.

use roundtrip_model::{Exchange, PhaseName};
use roundtrip_trace::{Conversation, Options, Trace, VantagePoint};
use roundtrip_wire::pcapng::{Captured, LinkType};

const FIN: u8 = 1;
const SYN: u8 = 2;
const ACK: u8 = 16;
const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n";

/// A connection between 10.0.0.1:50000 and 10.0.0.2:80, with the sequence numbers of each side.
struct Drawing {
    trace: Trace,
    next: [u32; 2],
    hops: [u8; 2],
    window: u16,
}

impl Drawing {
    fn new(hops: [u8; 2]) -> Self {
        Self {
            trace: Trace::new(Options::default()),
            next: [1000, 9000],
            hops,
            window: 60_000,
        }
    }

    /// Side 0 is the client.
    fn packet(&mut self, ms: f64, side: usize, sequence: u32, flags: u8, payload: &[u8]) {
        let mut bytes = vec![0x45, 0];
        bytes.extend((40 + payload.len() as u16).to_be_bytes());
        bytes.extend([0, 1, 0, 0, self.hops[side], 6, 0, 0]);
        let (addresses, ports) = ([[10, 0, 0, 1], [10, 0, 0, 2]], [50_000_u16, 80]);
        for end in [side, 1 - side] {
            bytes.extend(addresses[end]);
        }
        for end in [side, 1 - side] {
            bytes.extend(ports[end].to_be_bytes());
        }
        bytes.extend(sequence.to_be_bytes());
        bytes.extend(self.next[1 - side].to_be_bytes());
        bytes.extend([0x50, flags]);
        bytes.extend(if side == 0 { self.window } else { 60_000 }.to_be_bytes());
        bytes.extend([0; 4]);
        bytes.extend(payload);
        self.trace.push(&Captured {
            interface: 0,
            link: LinkType::RAW,
            time: Some((1e15 + ms * 1e6) as u64),
            original_length: bytes.len() as u32,
            data: bytes.into(),
            direction: None,
            comments: Vec::new(),
        });
    }

    fn send(&mut self, ms: f64, side: usize, flags: u8, payload: &[u8]) {
        self.packet(ms, side, self.next[side], flags, payload);
        let extra = u32::from(flags & (SYN | FIN) != 0);
        self.next[side] += payload.len() as u32 + extra;
    }

    /// The handshake: the SYN-ACK comes after `server` ms, the acknowledgement `client` ms later.
    fn opened(mut self, server: f64, client: f64) -> Self {
        self.send(0.0, 0, SYN, b"");
        self.send(server, 1, SYN | ACK, b"");
        self.send(server + client, 0, ACK, b"");
        self
    }

    fn asked(mut self, ms: f64) -> Self {
        self.send(ms, 0, ACK, REQUEST);
        self
    }

    fn answered(mut self, ms: f64, body: usize) -> Self {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {body}\r\n\r\n");
        let answer = [head.as_bytes(), &vec![b'x'; body]].concat();
        self.send(ms, 1, ACK, &answer);
        self
    }

    fn read(self) -> (Conversation, Exchange) {
        let mut all = self.trace.end().0;
        assert_eq!(all.len(), 1, "{all:#?}");
        let mut conversation = all.remove(0);
        assert_eq!(conversation.exchanges.len(), 1, "{conversation:#?}");
        let exchange = conversation.exchanges.remove(0);
        (conversation, exchange)
    }
}

fn found(exchange: &Exchange) -> Vec<(&'static str, f64)> {
    let findings = exchange.findings.iter();
    findings.map(|f| (f.id, f.ms.round())).collect()
}

#[test]
fn a_slow_client_is_not_a_part_of_the_path() {
    // Its packets crossed no router, and the server's thirteen.
    let drawn = || Drawing::new([128, 51]).opened(24.0, 15.0).asked(39.2);
    let (conversation, exchange) = drawn().answered(1066.0, 100).read();
    assert_eq!(conversation.vantage.place, VantagePoint::Client);
    assert_eq!(exchange.rtt.map(|rtt| rtt.as_millis()), Some(24));
    // With a single router, the place may be between.
    let drawn = Drawing::new([128, 63]).opened(24.0, 15.0).asked(39.2);
    let (conversation, _) = drawn.answered(66.0, 100).read();
    assert_eq!(conversation.vantage.place, VantagePoint::Middle);
}

#[test]
fn an_answer_that_is_cut_short_by_the_end_of_the_capture_was_late_all_the_same() {
    for hops in [[128, 51], [60, 51]] {
        let mut drawn = Drawing::new(hops).opened(20.0, 15.0).asked(35.2);
        drawn.send(80.0, 1, ACK, b"");
        let head = b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\nand so on";
        drawn.send(1066.0, 1, ACK, head);
        let (_, exchange) = drawn.read();
        assert!(!exchange.ok());
        assert_eq!(found(&exchange)[0].0, "server-think-time", "{exchange:#?}");
    }
}

#[test]
fn a_client_with_one_connection_was_slow_to_ask() {
    let (_, exchange) = Drawing::new([64, 51])
        .opened(24.0, 0.1)
        .asked(1369.1)
        .answered(1394.0, 100)
        .read();
    assert_eq!(found(&exchange), [("late-request", 1345.0)]);
    assert!(!exchange.reused);
}

/// Seen at the server's end: the client acknowledges a SYN-ACK at once, so data that was
/// acknowledged late had arrived late, and the client had no connection before.
#[test]
fn a_syn_ack_that_is_sent_again_was_lost() {
    let mut drawn = Drawing::new([51, 64]);
    drawn.send(0.0, 0, SYN, b"");
    drawn.send(0.1, 1, SYN | ACK, b"");
    for at in [1047.5, 3168.0, 7688.8] {
        drawn.packet(at, 1, 9000, SYN | ACK, b"");
    }
    drawn.send(14_433.5, 0, ACK, b"");
    drawn = drawn.asked(14_437.1);
    drawn.send(14_437.2, 1, ACK, b"");
    drawn = drawn.answered(14_438.2, 100);
    drawn.send(14_447.3, 0, ACK, b"");
    let (conversation, exchange) = drawn.read();
    assert_eq!(conversation.vantage.place, VantagePoint::Server);
    assert_eq!(found(&exchange), []);
    let phases = exchange.phases();
    let connect = phases.iter().find(|p| p.name == PhaseName::Tcp).unwrap();
    assert!(connect.waited.loss > 14_000.0, "{connect:?}");
}

#[test]
fn a_request_that_nothing_answers_was_lost() {
    let mut drawn = Drawing::new([64, 64]);
    let at = drawn.next[0];
    drawn.send(0.0, 0, ACK, REQUEST);
    for ms in [206.0, 606.0, 1400.0, 3000.0] {
        drawn.packet(ms, 0, at, ACK, REQUEST);
    }
    let (_, exchange) = drawn.read();
    assert_eq!(found(&exchange), [("segment-lost", 3000.0)]);
}

/// The capture begins with the rest of an answer that the client does not read.
#[test]
fn a_window_that_stays_closed_is_the_clients() {
    for (until, expected) in [(None, 23_700.0), (Some(10_000.0), 9999.0)] {
        let mut drawn = Drawing::new([64, 64]);
        drawn.send(0.0, 1, ACK, &[0; 1344]);
        drawn.window = 0;
        drawn.send(0.1, 0, ACK, b"");
        for ms in [3410.0, 23_731.0] {
            if until.is_none_or(|until| ms < until) {
                // A probe of the window.
                drawn.packet(ms, 1, drawn.next[1] - 1, ACK, b"");
                drawn.send(ms + 0.1, 0, ACK, b"");
            }
        }
        if let Some(until) = until {
            drawn.window = 60_000;
            drawn.send(until, 0, ACK, b"");
            drawn.send(until + 0.2, 1, ACK, &[0; 1344]);
        }
        let (conversation, exchange) = drawn.read();
        assert!(conversation.is_inferred);
        let [(id, ms), ..] = found(&exchange)[..] else {
            panic!("{exchange:#?}");
        };
        assert_eq!(id, "receive-window");
        assert!((ms - expected).abs() < 50.0, "{ms}");
        let body = exchange
            .phases()
            .into_iter()
            .find(|p| p.name == PhaseName::Body);
        assert!((body.unwrap().waited.client - ms).abs() < 50.0);
    }
}

/// A server of the time before RFC 6928, behind which nothing is wrong but its window.
#[test]
fn a_small_first_window_is_slow_start() {
    let mut drawn = Drawing::new([64, 51]).opened(80.0, 0.1).asked(80.3);
    let answer = [
        b"HTTP/1.1 200 OK\r\nContent-Length: 40000\r\n\r\n".as_slice(),
        vec![b'x'; 40_000].as_slice(),
    ]
    .concat();
    let mut segments = answer.chunks(1460);
    for (flight, size) in [3, 6, 12, 24].into_iter().enumerate() {
        for (n, segment) in segments.by_ref().take(size).enumerate() {
            let at = 160.5 + 80.0 * flight as f64 + 0.5 * n as f64;
            drawn.send(at, 1, ACK, segment);
            drawn.send(at + 0.01, 0, ACK, b"");
        }
    }
    let (_, exchange) = drawn.read();
    let found = &exchange.findings[0];
    assert_eq!(
        (found.id, found.round_trips),
        ("slow-start", 3),
        "{exchange:#?}"
    );
}

#[test]
fn an_answer_whose_head_is_missing_does_not_shift_the_others() {
    let mut drawn = Drawing::new([64, 51]).opened(20.0, 0.1).asked(20.2);
    // 300 bytes of the first answer were not captured.
    drawn.next[1] += 300;
    drawn.send(45.0, 1, ACK, &[b'x'; 200]);
    drawn.send(45.1, 0, ACK, b"");
    for n in 1..4 {
        let at = 100.0 * f64::from(n);
        drawn = drawn.asked(at).answered(at + 25.0, 100);
        drawn.send(at + 25.1, 0, ACK, b"");
    }
    let all = drawn.trace.end().0;
    let exchanges = &all[0].exchanges;
    assert_eq!(exchanges.len(), 4, "{exchanges:#?}");
    for exchange in exchanges {
        assert!(exchange.ok(), "{:?}", exchange.failure);
    }
    for exchange in &exchanges[1..] {
        assert_eq!(exchange.total().as_millis(), 25, "{exchange:#?}");
    }
}
