//! A QUIC client of a real server that holds its keys, does as much of the handshake as a test
//! wants, and then sends what the test wants. It accepts any certificate.

use std::hash::{BuildHasher, RandomState};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};

use roundtrip_wire::quic::{ConnectionId, Frame, Frames, Parameters, Pen, write_ack};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, Error, SignatureScheme};

use super::key_holder::{HANDSHAKE, INITIAL, KeyHolder, ONE_RTT, Opened};

/// How long a test waits for something that must come.
const PATIENCE: Duration = Duration::from_mins(1);
/// How long a silent server is listened to.
const SILENCE: Duration = Duration::from_millis(200);
const SIZE: usize = 1200;

/// CONNECTION_CLOSE: the code, and whether the application closes.
pub(crate) type Close = (u64, bool);

pub(crate) struct RawClient {
    socket: UdpSocket,
    pub(crate) peer: KeyHolder,
    pub(crate) closed: Option<Close>,
}

#[derive(Debug)]
struct Believer(Arc<CryptoProvider>);

impl ServerCertVerifier for Believer {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// For HTTP/3. The hello fits into one datagram.
pub(crate) fn tls() -> Arc<rustls::ClientConfig> {
    let mut provider = rustls::crypto::aws_lc_rs::default_provider();
    provider.kx_groups = vec![rustls::crypto::aws_lc_rs::kx_group::X25519];
    let provider = Arc::new(provider);
    let mut tls = rustls::ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Believer(provider)))
        .with_no_client_auth();
    tls.alpn_protocols = vec![b"h3".to_vec()];
    Arc::new(tls)
}

pub(crate) fn parameters() -> Parameters {
    Parameters {
        initial_max_data: 1 << 20,
        initial_max_stream_data_bidi_local: 1 << 20,
        initial_max_stream_data_uni: 1 << 20,
        initial_max_streams_uni: 10,
        ..Parameters::default()
    }
}

pub(crate) fn written(frames: &[Frame<'_>]) -> Vec<u8> {
    let mut payload = vec![0; SIZE];
    let mut pen = Pen::new(&mut payload);
    assert!(frames.iter().all(|frame| frame.write(&mut pen)));
    let length = pen.position();
    payload.truncate(length);
    payload
}

impl RawClient {
    /// A client that has sent its hello.
    pub(crate) fn new(to: SocketAddr) -> Self {
        Self::with(to, parameters())
    }

    pub(crate) fn with(to: SocketAddr, parameters: Parameters) -> Self {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        socket.connect(to).unwrap();
        let mut peer = KeyHolder::silent_client(tls(), parameters);
        // The kernel may give it the port of an earlier client, whose connection the server still
        // has.
        let first = RandomState::new().hash_one(to).to_be_bytes();
        peer.speak(ConnectionId::new(&first).unwrap());
        let mut client = Self {
            socket,
            peer,
            closed: None,
        };
        client.say_handshake(INITIAL);
        client
    }

    /// A client whose handshake is complete.
    pub(crate) fn connected(to: SocketAddr) -> Self {
        let mut client = Self::new(to);
        client.complete();
        client
    }

    /// Completes the handshake, unless the server closes.
    pub(crate) fn complete(&mut self) {
        let began = Instant::now();
        while !self.peer.has_keys(ONE_RTT) && self.closed.is_none() {
            assert!(began.elapsed() < PATIENCE, "the handshake is not complete");
            if self.hear(SILENCE).is_empty() {
                self.peer.repeat();
            }
            self.say_handshake(INITIAL);
        }
        self.say_handshake(HANDSHAKE);
    }

    /// Takes the server's flight, without completing the handshake.
    pub(crate) fn half(&mut self) {
        let began = Instant::now();
        while !self.peer.has_keys(ONE_RTT) && self.closed.is_none() {
            assert!(began.elapsed() < PATIENCE, "the server says too little");
            self.hear(SILENCE);
        }
    }

    fn say_handshake(&mut self, level: usize) {
        while let Some((offset, data)) = self.peer.unsaid(level) {
            let (payload, length) = (written(&[Frame::Crypto { offset, data }]), data.len());
            self.peer.on_said(level, length);
            self.send(level, &payload);
        }
    }

    /// Sends a 1-RTT packet with these frames.
    pub(crate) fn say(&mut self, frames: &[Frame<'_>]) {
        self.send(ONE_RTT, &written(frames));
    }

    pub(crate) fn send(&mut self, level: usize, payload: &[u8]) {
        let size = if level == INITIAL { SIZE } else { 0 };
        if let Some(datagram) = self.peer.seal(level, payload, 0, size) {
            // The server may be gone, which the test then notices.
            let _ = self.socket.send(&datagram);
        }
    }

    /// The packets of the next datagram, if one comes in time. They are acknowledged.
    pub(crate) fn hear(&mut self, patience: Duration) -> Vec<Opened> {
        self.socket.set_read_timeout(Some(patience)).unwrap();
        let mut datagram = vec![0; 2000];
        let Ok(length) = self.socket.recv(&mut datagram) else {
            return Vec::new();
        };
        let opened = self.peer.open(&datagram[..length]);
        for packet in &opened {
            for frame in Frames::new(&packet.payload).map_while(Result::ok) {
                if let Frame::Close { code, frame, .. } = frame {
                    self.closed = Some((code, frame.is_none()));
                }
            }
        }
        opened
    }

    /// Acknowledges a packet.
    pub(crate) fn acknowledge(&mut self, packet: &Opened) {
        let mut payload = vec![0; 100];
        let mut pen = Pen::new(&mut payload);
        let range = std::iter::once(packet.number..=packet.number);
        assert!(write_ack(&mut pen, 0, range, None));
        let length = pen.position();
        self.send(packet.level, &payload[..length]);
    }

    /// Waits until the server closes.
    pub(crate) fn wait_for_close(&mut self) -> Option<Close> {
        let began = Instant::now();
        while self.closed.is_none() && began.elapsed() < PATIENCE {
            self.hear(SILENCE);
            // A closing server answers what comes.
            if self.peer.has_keys(ONE_RTT) {
                self.say(&[Frame::Ping]);
            }
        }
        self.closed
    }

    /// Whether the server still answers a PING.
    pub(crate) fn is_answered(&mut self) -> bool {
        let began = Instant::now();
        while self.closed.is_none() && began.elapsed() < PATIENCE {
            let expected = self.peer.numbers[ONE_RTT];
            self.say(&[Frame::Ping]);
            for packet in self.hear(SILENCE) {
                let mut frames = Frames::new(&packet.payload).map_while(Result::ok);
                let acknowledges = frames.any(|frame| match frame {
                    Frame::Ack(ack) => ack.largest >= expected,
                    _ => false,
                });
                if packet.level == ONE_RTT && acknowledges {
                    return true;
                }
            }
        }
        false
    }
}
