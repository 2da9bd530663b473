//! Six kinds of first datagrams that come from nobody.

use roundtrip_wire::quic::{ConnectionId, Frame, LongKind, Pen, Version, set_length, write_long};
use rustls::quic::{DirectionalKeys, Keys};

pub(crate) const SIZE: usize = 1200;
const TAG: usize = 16;
const SOURCE: &[u8] = b"stranger";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The first half of a hello.
    Half,
    Whole,
    /// A hello that TLS refuses.
    Failing,
    /// A complete hello, followed by CONNECTION_CLOSE.
    Closing,
    /// Many pieces of a hello with gaps between them.
    Crumbs,
    /// One byte, as far ahead as is permitted.
    FarAhead,
}

pub(crate) const KINDS: [Kind; 6] = [
    Kind::Half,
    Kind::Whole,
    Kind::Failing,
    Kind::Closing,
    Kind::Crumbs,
    Kind::FarAhead,
];

fn crypto(offset: u64, data: &[u8]) -> Frame<'_> {
    Frame::Crypto { offset, data }
}

impl Kind {
    pub(crate) fn frames(self, hello: &[u8]) -> Vec<Frame<'_>> {
        match self {
            Self::Half => vec![crypto(0, &hello[..hello.len() / 2])],
            Self::Whole => vec![crypto(0, hello)],
            Self::Failing => vec![crypto(0, b"\x01\0\0\0")],
            Self::Closing => vec![
                crypto(0, hello),
                Frame::Close {
                    code: 0,
                    frame: Some(0),
                    reason: b"",
                },
            ],
            Self::Crumbs => (0..150).map(|at| crypto(at * 2, b"x")).collect(),
            Self::FarAhead => vec![crypto((64 << 10) - 1, b"x")],
        }
    }
}

/// A client's first datagram, with these frames.
pub(crate) fn first(id: &ConnectionId, frames: &[Frame<'_>]) -> Vec<u8> {
    let version = rustls::quic::Version::V1;
    let suite = rustls::crypto::aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256;
    let suite = suite
        .tls13()
        .and_then(rustls::Tls13CipherSuite::quic_suite)
        .unwrap();
    let Keys { local, .. } = suite.keys(id.as_slice(), rustls::Side::Client, version);
    let mut datagram = vec![0; SIZE];
    let mut pen = Pen::new(&mut datagram[..SIZE - TAG]);
    let source = ConnectionId::new(SOURCE).unwrap();
    let kind = LongKind::Initial;
    let at = write_long(&mut pen, kind, Version::V1, id, &source, &[], 0, 1).unwrap();
    assert!(frames.iter().all(|frame| frame.write(&mut pen)));
    assert!(set_length(&mut datagram, at.length_at, SIZE - at.number_at));
    seal(&local, &mut datagram, at.number_at);
    datagram
}

fn seal(keys: &DirectionalKeys, datagram: &mut [u8], number_at: usize) {
    let (header, payload) = datagram.split_at_mut(number_at + 1);
    let length = payload.len() - TAG;
    let (payload, tag) = payload.split_at_mut(length);
    let sealed = keys.packet.encrypt_in_place(0, header, payload).unwrap();
    tag.copy_from_slice(sealed.as_ref());
    let sample_at = number_at + 4;
    let sample = datagram[sample_at..sample_at + keys.header.sample_len()].to_vec();
    let (head, number) = datagram.split_at_mut(number_at);
    let number = &mut number[..1];
    keys.header
        .encrypt_in_place(&sample, &mut head[0], number)
        .unwrap();
}

/// The first message of TLS, small enough for a datagram.
pub(crate) fn hello(tls: &rustls::ClientConfig) -> Vec<u8> {
    let name = "server.test".try_into().unwrap();
    let version = rustls::quic::Version::V1;
    let mut tls = tls.clone();
    tls.alpn_protocols.truncate(1);
    // RFC 9000 §18.2: initial_source_connection_id.
    let parameters = [&[0x0f, SOURCE.len() as u8], SOURCE].concat();
    let tls = rustls::quic::ClientConnection::new(tls.into(), version, name, parameters);
    let mut said = Vec::new();
    let _ = tls.unwrap().write_hs(&mut said);
    assert!(said.len() < 1000, "{}", said.len());
    said
}
