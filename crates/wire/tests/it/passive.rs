//! Connections of other programs, recorded on loopback, are read from outside with the keys that
//! their clients logged.

mod http;
mod quic;
mod tls;

use std::fs;

use roundtrip_wire::key_log::KeyLog;
use roundtrip_wire::quic::Side;

/// What both sides of a recorded connection sent, in order.
fn talk(name: &str) -> Vec<(Side, Vec<u8>)> {
    let bytes = fs::read(path(name, "talk")).unwrap();
    let mut rest = bytes.as_slice();
    let mut pieces = Vec::new();
    while let Some(([side, length @ ..], behind)) = rest.split_first_chunk::<5>() {
        let side = if *side == 0 {
            Side::Client
        } else {
            Side::Server
        };
        let (piece, behind) = behind.split_at(u32::from_be_bytes(*length) as usize);
        pieces.push((side, piece.to_vec()));
        rest = behind;
    }
    pieces
}

fn keys(name: &str) -> KeyLog {
    KeyLog::parse(&fs::read(path(name, "keys")).unwrap())
}

fn path(name: &str, kind: &str) -> String {
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/passive");
    format!("{data}/{name}.{kind}")
}
