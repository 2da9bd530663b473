//! Measures how fast one core reads a capture: `capture_speed CAPTURE [KEYLOG]`. First the packets
//! and their headers, then also TLS over TCP, opened with the secrets of the key log.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::borrow::Cow;
use std::collections::HashMap;
use std::time::Instant;

use roundtrip_wire::capture::{CaptureItem, CaptureReader};
use roundtrip_wire::key_log::KeyLog;
use roundtrip_wire::link::ip_packet;
use roundtrip_wire::packet::Packet;
use roundtrip_wire::passive::{TlsContent, TlsReader, TlsRecord};
use roundtrip_wire::quic::Side;

/// Passes over the capture; the fastest counts.
const PASSES: usize = 5;

/// The connection, and the next position in each side's stream.
type Flow = (TlsReader, [Option<u32>; 2]);

fn main() {
    let mut arguments = std::env::args().skip(1);
    let capture = std::fs::read(arguments.next().unwrap()).unwrap();
    let keys = arguments.next().map(|path| std::fs::read(path).unwrap());
    let keys = KeyLog::parse(&keys.unwrap_or_default());
    for with_tls in [false, true] {
        let mut best = f64::MAX;
        let mut found = (0, 0);
        for _ in 0..PASSES {
            let start = Instant::now();
            found = pass(&capture, &keys, with_tls);
            best = best.min(start.elapsed().as_secs_f64());
        }
        let rate = capture.len() as f64 / best / 1e6;
        let (packets, opened) = found;
        println!("TLS {with_tls}: {rate:.0} MB/s, {packets} packets, {opened} bytes opened");
    }
}

fn pass(capture: &[u8], keys: &KeyLog, with_tls: bool) -> (u64, u64) {
    let mut reader = CaptureReader::new();
    let mut flows: HashMap<(u16, u16), Flow> = HashMap::new();
    let (mut packets, mut opened) = (0, 0);
    for piece in capture.chunks(1 << 20) {
        reader.push(piece);
        while let Some(item) = reader.item().unwrap() {
            let CaptureItem::Packet(frame) = item else {
                continue;
            };
            let data: Cow<'_, [u8]> = frame.data;
            let Some(inner) = ip_packet(frame.link, &data) else {
                continue;
            };
            let Ok(packet) = Packet::parse(inner.packet) else {
                continue;
            };
            let Some(tcp) = packet.tcp() else {
                continue;
            };
            packets += 1;
            let ports = (tcp.source_port(), tcp.destination_port());
            if !with_tls || tcp.payload().is_empty() {
                continue;
            }
            // The server has the lower port.
            let is_client = ports.1 < ports.0;
            let side = if is_client {
                Side::Client
            } else {
                Side::Server
            };
            let (tls, next) = flows
                .entry((ports.0.min(ports.1), ports.0.max(ports.1)))
                .or_default();
            let next = &mut next[usize::from(is_client)];
            let sequence = tcp.sequence();
            let ahead = sequence.wrapping_sub(next.unwrap_or(sequence));
            // Earlier data is skipped, and so is data that the capture lacks.
            if ahead >= 1 << 30 {
                continue;
            }
            let mut each = |record: TlsRecord<'_>| {
                if let TlsContent::Opened { bytes, .. } = record.content {
                    opened += bytes.len() as u64;
                }
            };
            if ahead > 0 {
                tls.skip(side, u64::from(ahead), keys, &mut each);
            }
            *next = Some(sequence.wrapping_add(tcp.payload().len() as u32));
            tls.push(side, tcp.payload(), keys, &mut each);
        }
    }
    (packets, opened)
}
