//! A QUIC connection whose secrets are known: its requests, with the times of the datagrams that
//! brought them.

use roundtrip_wire::key_log::KeyLog;
use roundtrip_wire::passive::{Http3Reader, QuicPayload, QuicReader, SealedReason};
use roundtrip_wire::quic::{PacketKind, Side as Party};

use crate::requests::{OpenedRequest, Requests};
use crate::segment::Side;

#[derive(Default)]
pub(super) struct OpenedQuic {
    reader: QuicReader,
    http: Http3Reader,
    requests: Requests,
    is_opened: bool,
    sealed: Option<SealedReason>,
}

impl OpenedQuic {
    /// Takes a datagram that was captured at this time.
    pub(super) fn push(&mut self, side: Side, at: u64, datagram: &[u8], keys: &KeyLog) {
        let party = match side {
            Side::Client => Party::Client,
            Side::Server => Party::Server,
        };
        let Self {
            reader,
            http,
            requests,
            is_opened,
            sealed,
        } = self;
        reader.push(party, datagram, keys, |packet| match packet.payload {
            QuicPayload::Opened { frames, .. } => {
                // The first packets can be opened without secrets.
                *is_opened |= packet.kind != PacketKind::Initial;
                http.push(party, frames, at, |event| requests.event(event));
            }
            QuicPayload::Sealed(reason) => {
                sealed.get_or_insert(reason);
            }
        });
    }

    /// The requests, if the secrets opened anything.
    pub(super) fn requests(&self) -> Option<&[OpenedRequest]> {
        self.is_opened.then(|| self.requests.all())
    }

    /// Roughly the number of bytes that this holds.
    pub(super) fn held(&self) -> usize {
        self.requests.held() + self.reader.held() + self.http.held()
    }

    pub(super) fn session(&self) -> Option<[u8; 32]> {
        self.reader.client_random().copied()
    }

    pub(super) fn sealed(&self) -> Option<SealedReason> {
        self.sealed
    }
}
