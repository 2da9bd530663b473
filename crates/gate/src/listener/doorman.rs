//! Sees the datagrams of a UDP socket before QUIC does, and notes which sessions new clients want to go on with, so that
//! there is time to fetch them. Nothing is held back or changed. Who asks too late, or wants too much, shakes hands in full.

use std::collections::VecDeque;
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, UdpPoller};
use roundtrip_wire::quic::{
    ConnectionId, CryptoStream, InitialKeys, LongKind, LongPacket, Packet, Packets, Side,
};
use tokio::sync::Notify;

use super::hello::Hello;

/// Clients whose hello is not looked at yet. Of more, the oldest are forgotten.
const MOST: usize = 128;
/// RFC 9000 §14.1: a client's first datagrams are no smaller.
const SMALLEST: usize = 1200;

#[derive(Debug)]
pub(super) struct Doorman {
    socket: Arc<dyn AsyncUdpSocket>,
    notes: Mutex<VecDeque<Note>>,
    heard: Notify,
}

struct Note {
    peer: SocketAddr,
    /// As the client chose it; after a Retry, as we did.
    destination: ConnectionId,
    keys: InitialKeys,
    hello: CryptoStream,
}

impl std::fmt::Debug for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Note({})", self.peer)
    }
}

impl Doorman {
    pub(super) fn new(socket: Arc<dyn AsyncUdpSocket>) -> Arc<Self> {
        Arc::new(Self {
            socket,
            notes: Mutex::default(),
            heard: Notify::new(),
        })
    }

    /// Waits for the whole hello of a client: by what name does it know its session?
    pub(super) async fn identity(&self, peer: SocketAddr, destination: &[u8]) -> Option<Vec<u8>> {
        loop {
            let heard = self.heard.notified();
            if let Hello::Whole(identity) = self.look(peer, destination) {
                return identity;
            }
            heard.await;
        }
    }

    /// What was looked at is not kept.
    fn look(&self, peer: SocketAddr, destination: &[u8]) -> Hello {
        let mut notes = self.notes();
        let of_peer = |note: &Note| note.peer == peer;
        let place = notes
            .iter()
            .rposition(|note| of_peer(note) && note.destination.as_slice() == destination)
            // After a Retry the client is known by its address: it has proved that it is there.
            .or_else(|| notes.iter().rposition(of_peer));
        let Some(place) = place else {
            return Hello::Whole(None);
        };
        let note = notes.get(place);
        let found = note.map_or(Hello::Whole(None), |note| {
            Hello::in_messages(note.hello.contiguous())
        });
        if matches!(found, Hello::Whole(_)) {
            notes.remove(place);
        }
        found
    }

    fn note(&self, peer: SocketAddr, datagram: &[u8]) {
        // RFC 9000 §17.2: the long header's first bit.
        if datagram.len() < SMALLEST || datagram.first().is_none_or(|first| first & 0x80 == 0) {
            return;
        }
        for packet in Packets::new(datagram).map_while(Result::ok) {
            if let Packet::Long(packet) = packet
                && packet.kind == LongKind::Initial
            {
                self.note_initial(peer, &packet);
            }
        }
    }

    fn note_initial(&self, peer: SocketAddr, packet: &LongPacket<'_>) {
        let mut notes = self.notes();
        let known = notes
            .iter_mut()
            .find(|note| note.peer == peer && note.destination == packet.destination);
        if let Some(note) = known {
            if let Ok(opened) = note.keys.open(Side::Client, packet, None) {
                let _ = note.hello.push_payload(&opened.payload);
                self.heard.notify_waiters();
            }
            return;
        }
        let Ok(keys) = InitialKeys::derive(packet.version, &packet.destination) else {
            return;
        };
        // Later packets have an id that no keys come from: they do not open.
        let Ok(opened) = keys.open(Side::Client, packet, None) else {
            return;
        };
        let mut hello = CryptoStream::default();
        if hello.push_payload(&opened.payload).is_err() {
            return;
        }
        if notes.len() >= MOST {
            notes.pop_front();
        }
        notes.push_back(Note {
            peer,
            destination: packet.destination,
            keys,
            hello,
        });
        self.heard.notify_waiters();
    }

    /// Nothing is left half done under the lock.
    fn notes(&self) -> MutexGuard<'_, VecDeque<Note>> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AsyncUdpSocket for Doorman {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        self.socket.clone().create_io_poller()
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        self.socket.try_send(transmit)
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        facts: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let n = ready!(self.socket.poll_recv(cx, buffers, facts))?;
        for (buffer, facts) in buffers.iter().zip(facts.iter()).take(n) {
            let bytes = buffer.get(..facts.len).unwrap_or_default();
            // The kernel may have put several datagrams of one length together.
            for datagram in bytes.chunks(facts.stride.max(1)) {
                self.note(facts.addr, datagram);
            }
        }
        Poll::Ready(Ok(n))
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    fn max_transmit_segments(&self) -> usize {
        self.socket.max_transmit_segments()
    }

    fn max_receive_segments(&self) -> usize {
        self.socket.max_receive_segments()
    }

    fn may_fragment(&self) -> bool {
        self.socket.may_fragment()
    }
}
