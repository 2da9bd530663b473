//! Formats through the public API: recorded bytes, round trips, and invalid input.

#![allow(clippy::unwrap_used, clippy::panic)] // what a test's helper expects is expected of the code

mod dns;
mod dns_round_trip;
mod never_panics;
mod packet;
mod passive;
mod pcapng;
mod quic;
mod quic_transport;
#[path = "../../../../tests/skip.rs"]
mod skip;
mod tls;
mod x509;

/// The bytes of hexadecimal digits with blanks between them, as in RFCs.
fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    roundtrip_wire::unhex(&digits).unwrap()
}
