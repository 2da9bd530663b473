//! QUIC's TLS as quinn speaks it, with an ear for session tickets, which come in CRYPTO frames: `roundtrip_tls` keeps
//! them for later processes. All work is done by the session inside.

use std::any::Any;
use std::sync::Arc;

use quinn::crypto::rustls::QuicClientConfig;
use quinn::crypto::{
    ClientConfig, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey, Session,
};
use quinn::{ConnectError, ConnectionId, Side};
use quinn_proto::TransportError;
use quinn_proto::transport_parameters::TransportParameters;
use roundtrip_tls::{Listening, TicketReader};
use rustls::pki_types::CertificateDer;

/// Makes sessions that are listened to.
pub(super) struct Attentive(pub(super) Arc<QuicClientConfig>);

impl ClientConfig for Attentive {
    fn start_session(
        self: Arc<Self>,
        version: u32,
        server_name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        let inner = self.0.clone().start_session(version, server_name, params)?;
        Ok(Box::new(Heard {
            inner,
            tickets: TicketReader::default(),
        }))
    }
}

struct Heard {
    inner: Box<dyn Session>,
    tickets: TicketReader,
}

impl Session for Heard {
    fn initial_keys(&self, dst_cid: &ConnectionId, side: Side) -> Keys {
        self.inner.initial_keys(dst_cid, side)
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        self.inner.handshake_data()
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        self.inner.peer_identity()
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        self.inner.early_crypto()
    }

    fn early_data_accepted(&self) -> Option<bool> {
        self.inner.early_data_accepted()
    }

    fn is_handshaking(&self) -> bool {
        self.inner.is_handshaking()
    }

    /// Bytes of one encryption level after the other, each in order and without gaps. RFC 9001 §4.1.3.
    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        let listening = Listening::begin();
        self.tickets.hear(buf);
        let outcome = self.inner.read_handshake(buf);
        listening.end(|| {
            let chain = self.inner.peer_identity()?;
            let chain = chain.downcast::<Vec<CertificateDer<'static>>>();
            chain.ok().map(|chain| *chain)
        });
        outcome
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        self.inner.transport_parameters()
    }

    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        self.inner.write_handshake(buf)
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        self.inner.next_1rtt_keys()
    }

    fn is_valid_retry(&self, orig_dst_cid: &ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        self.inner.is_valid_retry(orig_dst_cid, header, payload)
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        self.inner.export_keying_material(output, label, context)
    }
}
