//! Handshake messages, assembled from records or from QUIC's CRYPTO stream. RFC 8446 §4.

use std::fmt;

use super::{ContentKind, Records};
use crate::cursor::Cursor;
use crate::{Error, Result};

/// The limit in bytes for the unencrypted part of a handshake: generous for hellos, and for the
/// certificate chain that TLS 1.2 sends unencrypted.
const MAX_HANDSHAKE: usize = 256 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct HandshakeKind(pub u8);

impl HandshakeKind {
    pub const CLIENT_HELLO: Self = Self(1);
    pub const SERVER_HELLO: Self = Self(2);
    pub const NEW_SESSION_TICKET: Self = Self(4);
    pub const END_OF_EARLY_DATA: Self = Self(5);
    pub const ENCRYPTED_EXTENSIONS: Self = Self(8);
    pub const CERTIFICATE: Self = Self(11);
    pub const SERVER_KEY_EXCHANGE: Self = Self(12);
    pub const SERVER_HELLO_DONE: Self = Self(14);
    pub const FINISHED: Self = Self(20);
    pub const COMPRESSED_CERTIFICATE: Self = Self(25);
}

impl fmt::Display for HandshakeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            0 => "HelloRequest",
            1 => "ClientHello",
            2 => "ServerHello",
            4 => "NewSessionTicket",
            5 => "EndOfEarlyData",
            8 => "EncryptedExtensions",
            11 => "Certificate",
            12 => "ServerKeyExchange",
            13 => "CertificateRequest",
            14 => "ServerHelloDone",
            15 => "CertificateVerify",
            16 => "ClientKeyExchange",
            20 => "Finished",
            22 => "CertificateStatus",
            24 => "KeyUpdate",
            25 => "CompressedCertificate",
            other => return write!(f, "handshake message {other}"),
        })
    }
}

/// One message; `body` begins after the four bytes of type and length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HandshakeMessage<'a> {
    pub kind: HandshakeKind,
    pub body: &'a [u8],
}

/// The complete messages at the start of a handshake stream.
#[derive(Debug, Clone)]
pub struct Handshakes<'a> {
    rest: &'a [u8],
}

impl<'a> Handshakes<'a> {
    pub fn new(stream: &'a [u8]) -> Self {
        Self { rest: stream }
    }

    /// The unread rest: at the end, an incomplete message.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

impl<'a> Iterator for Handshakes<'a> {
    type Item = HandshakeMessage<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut cursor = Cursor::new("TLS handshake message", self.rest);
        let kind = HandshakeKind(cursor.u8().ok()?);
        let length = cursor.u24().ok()?;
        let body = cursor.take(length).ok()?;
        self.rest = cursor.rest();
        Some(HandshakeMessage { kind, body })
    }
}

/// The handshake bytes that one side of a TLS stream sent unencrypted.
///
/// After `ChangeCipherSpec`, TLS 1.2 encrypts. In TLS 1.3 that record means nothing, and a hello
/// may still follow it (RFC 8446 §D.4): the `ServerHello` after a `HelloRetryRequest`, or its
/// `ClientHello`.
pub fn clear_handshake(stream: &[u8]) -> Result<Vec<u8>> {
    let mut handshake = Vec::new();
    let mut changed = false;
    for record in Records::new(stream) {
        let record = record?;
        match record.kind {
            ContentKind::Handshake if changed && !is_one_hello(record.body) => break,
            ContentKind::Handshake => handshake.extend(record.body),
            ContentKind::ChangeCipherSpec => changed = true,
            ContentKind::ApplicationData => break,
            ContentKind::Alert | ContentKind::Heartbeat => {}
        }
        if handshake.len() > MAX_HANDSHAKE {
            return Err(Error::TooLarge {
                what: "a TLS handshake",
                limit: MAX_HANDSHAKE,
            });
        }
    }
    Ok(handshake)
}

/// An encrypted message looks like a hello by chance with a probability of 2⁻³¹.
fn is_one_hello(body: &[u8]) -> bool {
    let mut messages = Handshakes::new(body);
    let hello = messages.next().is_some_and(|message| {
        matches!(
            message.kind,
            HandshakeKind::CLIENT_HELLO | HandshakeKind::SERVER_HELLO
        )
    });
    hello && messages.rest().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u8, body: &[u8]) -> Vec<u8> {
        let mut bytes = vec![kind, 3, 3, 0, body.len() as u8];
        bytes.extend(body);
        bytes
    }

    #[test]
    fn messages_are_joined_across_records() {
        let stream = [
            record(22, &[2, 0, 0]),
            record(22, &[1, 9, 14, 0]),
            record(22, &[0, 0]),
        ]
        .concat();
        let bytes = clear_handshake(&stream).unwrap();
        let messages: Vec<_> = Handshakes::new(&bytes).collect();
        assert_eq!(
            messages,
            [
                HandshakeMessage {
                    kind: HandshakeKind::SERVER_HELLO,
                    body: &[9]
                },
                HandshakeMessage {
                    kind: HandshakeKind::SERVER_HELLO_DONE,
                    body: &[]
                }
            ]
        );
    }

    #[test]
    fn a_second_hello_may_follow_a_cipher_change_but_ciphertext_is_left_alone() {
        let change = record(20, &[1]);
        let hello = record(22, &[1, 0, 0, 1, 9]);
        let finished = record(22, &[0, 0, 0, 0, 0, 0, 0, 0, 0xd5, 0x11]);
        let retried = [hello.clone(), change.clone(), hello.clone()].concat();
        assert_eq!(clear_handshake(&retried).unwrap().len(), 10);
        let tls12 = [hello, change, finished].concat();
        assert_eq!(clear_handshake(&tls12).unwrap().len(), 5);
    }

    #[test]
    fn a_handshake_without_end_is_refused() {
        let stream = record(22, &[0; 200]).repeat(MAX_HANDSHAKE / 200 + 1);
        assert!(matches!(
            clear_handshake(&stream),
            Err(Error::TooLarge { .. })
        ));
    }
}
