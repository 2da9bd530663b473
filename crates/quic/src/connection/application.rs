//! What an application can do with a connection and ask about it.

use std::net::SocketAddr;

use bytes::Bytes;
use roundtrip_wire::quic::{Side, Version};
use rustls::pki_types::CertificateDer;

use super::Connection;
use crate::crypto::Level;
use crate::received::Received;
use crate::streams::{Dir, Peek, Read, ReadError, StreamId, WriteError};
use crate::{Event, Stats};

impl Connection {
    /// Returns the next event, or `None` until something else happens.
    pub fn poll(&mut self) -> Option<Event> {
        if let Some(event) = self.events.poll() {
            return Some(event);
        }
        self.streams.poll().map(Event::Stream)
    }

    /// Opens a stream. Returns `None` if the peer permits no more; an event follows when it does.
    pub fn open(&mut self, dir: Dir) -> Option<StreamId> {
        self.streams.open(dir)
    }

    /// Returns the next stream that the peer opened.
    pub fn accept(&mut self, dir: Dir) -> Option<StreamId> {
        self.streams.accept(dir)
    }

    /// Buffers as much of the front of `data` as there is room for, without copying it. Returns the
    /// number of bytes.
    pub fn write(&mut self, id: StreamId, data: Bytes) -> Result<usize, WriteError> {
        self.streams.write(id, data)
    }

    pub fn finish(&mut self, id: StreamId) -> Result<(), WriteError> {
        self.streams.finish(id)
    }

    /// Gives up sending: what the peer has not received yet, it never gets.
    pub fn reset(&mut self, id: StreamId, code: u64) -> Result<(), WriteError> {
        self.streams.reset(id, code)
    }

    /// Asks the peer to send no more.
    pub fn stop(&mut self, id: StreamId, code: u64) -> Result<(), ReadError> {
        self.streams.stop(id, code)
    }

    pub fn peek(&mut self, id: StreamId) -> Result<Peek<'_>, ReadError> {
        self.streams.peek(id)
    }

    /// Removes `count` bytes, which the caller has peeked at, from the stream.
    pub fn consume(&mut self, id: StreamId, count: usize) {
        self.streams.consume(id, count);
    }

    pub fn read(&mut self, id: StreamId, into: &mut [u8]) -> Result<Read, ReadError> {
        self.streams.read(id, into)
    }

    /// Sends a PING.
    pub fn ping(&mut self) {
        self.control.ping();
    }

    /// Begins a new key phase; returns false if that is not permitted now. RFC 9001 §6.1.
    pub fn update_keys(&mut self) -> bool {
        self.crypto.update_keys()
    }

    /// Frees the memory that is kept ready for the next data.
    pub fn rest(&mut self) {
        self.streams.rest();
    }

    /// Handles that the socket refused a datagram of `size` bytes: it exceeds the path's limit.
    pub fn on_too_big(&mut self, size: usize) {
        let size = u16::try_from(size).unwrap_or(u16::MAX);
        self.recovery.on_too_big(size);
    }

    pub fn side(&self) -> Side {
        self.handshake.side()
    }

    pub fn version(&self) -> Version {
        self.handshake.version()
    }

    pub fn remote(&self) -> SocketAddr {
        self.paths.remote()
    }

    /// Whether the handshake was completed, whatever has happened to the connection since.
    pub fn is_connected(&self) -> bool {
        self.handshake.is_complete()
    }

    /// Whether the handshake may still complete.
    pub fn is_handshaking(&self) -> bool {
        self.closing.is_open() && !self.handshake.is_complete()
    }

    /// Whether the peer may be elsewhere than it says: the client of a server has not validated its
    /// address yet.
    pub fn is_unproved(&self) -> bool {
        self.handshake.side() == Side::Server
            && !self.handshake.is_complete()
            && !self.paths.is_validated()
    }

    /// Whether the connection has ended: nothing can be sent on streams any more.
    pub fn is_closed(&self) -> bool {
        !self.closing.is_open()
    }

    /// Whether nothing is left to do, so that the connection can be forgotten.
    pub fn is_drained(&self) -> bool {
        self.closing.is_drained()
    }

    pub fn alpn(&self) -> Option<&[u8]> {
        self.crypto.alpn()
    }

    /// The server name that the client asked for.
    pub fn server_name(&self) -> Option<&str> {
        self.crypto.server_name()
    }

    pub fn peer_certificates(&self) -> Option<&[CertificateDer<'static>]> {
        self.crypto.peer_certificates()
    }

    pub fn cipher(&self) -> Option<rustls::CipherSuite> {
        self.crypto.cipher()
    }

    pub fn group(&self) -> Option<rustls::NamedGroup> {
        self.crypto.group()
    }

    pub fn handshake_kind(&self) -> Option<rustls::HandshakeKind> {
        self.crypto.handshake_kind()
    }

    /// Whether data that a client writes now leaves as early data.
    pub fn is_early(&self) -> bool {
        self.is_handshaking() && self.crypto.has(Level::Early)
    }

    /// Whether the server accepted early data; `None` if none was offered, or that is not known
    /// yet.
    pub fn early_accepted(&self) -> Option<bool> {
        self.crypto.early_accepted()
    }

    pub fn stats(&self) -> Stats {
        let rtt = self.recovery.rtt();
        let streams = self.streams.counters();
        Stats {
            datagram: self.recovery.datagram(),
            window: self.recovery.window(),
            in_flight: self.recovery.in_flight(),
            rtt: rtt.smoothed(),
            min_rtt: rtt.sampled().map(|_| rtt.min()),
            key_updates: self.crypto.key_updates(),
            ecn: self.recovery.is_ecn_capable(),
            stream_bytes_sent: streams.bytes_sent,
            stream_bytes_resent: streams.bytes_resent,
            stream_bytes_acked: streams.bytes_acked,
            stream_bytes_received: streams.bytes_received,
            missing: self.received.iter().map(Received::missing).sum(),
            acked_after: self.recovery.acked_after(),
            ..self.stats
        }
    }
}
