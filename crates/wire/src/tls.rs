//! The part of TLS that is sent in clear text: records, hellos, alerts. Nothing is decrypted, and
//! no state is kept.

mod alert;
mod cipher;
mod client_hello;
mod encrypted_extensions;
mod extension;
mod group;
mod handshake;
mod record;
mod server_hello;
mod version;

pub use alert::Alert;
pub use cipher::CipherSuite;
pub use client_hello::{CertificateCompression, ClientHello, KeyShare};
pub use encrypted_extensions::EncryptedExtensions;
pub use group::Group;
pub use handshake::{HandshakeKind, HandshakeMessage, Handshakes, clear_handshake};
pub use record::{ContentKind, Record, Records};
pub use server_hello::{ServerHello, server_key_exchange_group};
pub use version::Version;

/// Values that clients send to keep servers tolerant: 0x0a0a, 0x1a1a, … RFC 8701 §2.
fn is_grease(value: u16) -> bool {
    let [high, low] = value.to_be_bytes();
    high == low && low & 0x0f == 0x0a
}

#[test]
fn grease_is_known() {
    assert!(is_grease(0x0a0a) && is_grease(0xfafa));
    assert!(!is_grease(0x0a1a) && !is_grease(0x1301) && !is_grease(0x1b1b));
}
