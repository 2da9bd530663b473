//! One connection: datagrams in, bursts out.
//!
//! It ties together the bytes (`wire::quic`), the keys (`crypto`), the losses (`recovery`) and the
//! streams (`streams`): it decides when each packet is sent and what it contains, and passes each
//! received frame to its owner. `endpoint` decides which connection a datagram belongs to, and
//! answers datagrams without a connection.

mod ack_frequency;
mod amplification;
mod closing;
mod control;
mod establishing;
mod events;
mod frame_owners;
mod handshake;
mod idle;
mod ids;
mod logging;
mod opening;
mod paths;
mod random;
mod receiving;
mod remote_ids;
mod sending;
mod spin;
mod splitter;
#[cfg(test)]
pub(crate) mod tests;
mod timers;
mod undecryptable;

use std::fmt;
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use roundtrip_wire::quic::{Side, Version};
use rustls::pki_types::CertificateDer;

use crate::budget::BudgetShare;
use crate::crypto::{Crypto, Level};
use crate::error::{CloseReason, TransportError};
use crate::log::Log;
use crate::received::Received;
use crate::recovery::{Feedback, Recovery};
use crate::sent::SentFrame;
use crate::stats::Stats;
use crate::streams::{Dir, Peek, Read, ReadError, StreamId, Streams, WriteError};
use crate::{Code, Event, Time, Transport};
use ack_frequency::AckFrequency;
use closing::{CloseFrame, Closing};
use control::Control;
use events::Events;
use handshake::Handshake;
use idle::Idle;
use ids::LocalIds;
use paths::Paths;
use remote_ids::RemoteIds;
use spin::Spin;
use undecryptable::Undecryptable;

pub(crate) use opening::{ConnectionSetup, FirstInitial, Issuer, VERSIONS};
pub(crate) use random::Random;

/// Every path carries UDP payloads of this size. RFC 9000 §14.
const MIN_DATAGRAM: usize = 1200;
/// The smallest packet that is worth sending: if a datagram may not be this large, nothing is sent.
const MIN_PACKET: usize = 100;
/// The longest time that a connection is kept after it has ended.
const MAX_LINGERING: Duration = Duration::from_secs(6);

/// One connection, of a client or of a server. It does no I/O and has no clock: its owner provides
/// both, mostly through [`crate::Endpoint`]. There are four kinds of methods:
///
/// - **Handlers** take what comes in: [`crate::Endpoint::receive`] passes on datagrams,
///   [`Self::on_timeout`] takes the time when [`Self::deadline`] has come, [`Self::on_too_big`] and
///   [`Self::on_unsent`] what a socket refused, and [`Self::on_unreachable`] what the network says
///   about the peer.
/// - **Application calls**: [`Self::open`], [`Self::accept`], [`Self::write`], [`Self::read`] and
///   their like act on streams; [`Self::close`], [`Self::ping`], [`Self::migrate`] act on the
///   whole.
/// - **Polls** return what leaves: events from [`Self::poll`], bursts of datagrams from
///   [`Self::transmit`], and the next deadline from [`Self::deadline`].
/// - **Getters** ([`Self::stats`], [`Self::alpn`], `is_…`) change nothing.
///
/// After any handler, and after the application has done something: call [`Self::poll`] until it
/// returns no event, then [`Self::transmit`] until it returns no burst (preferably once for several
/// datagrams received together), then [`Self::deadline`] again. Once [`Self::is_drained`], the
/// connection is over and can be forgotten.
///
/// Inside, each field owns what it names, and no other field changes it; `establishing`,
/// `receiving`, `sending` and `timers` are the loops that connect them. Every connection ends by
/// calling `end` once, when `Closing` says that this is the first time.
pub struct Connection {
    config: Arc<Transport>,
    closing: Closing,
    handshake: Handshake,
    crypto: Crypto,
    recovery: Recovery,
    /// The received packets of each space, by [`Space::index`].
    received: [Received; 3],
    streams: Streams,
    local_ids: LocalIds,
    remote_ids: RemoteIds,
    paths: Paths,
    control: Control,
    ack_frequency: AckFrequency,
    idle: Idle,
    spin: Spin,
    undecryptable: Undecryptable,
    account: BudgetShare,
    events: Events,
    stats: Stats,
    /// The frames of the packet being written, apart from its run of stream data.
    items: Vec<SentFrame>,
    /// Empty between calls of `settle`, except for its capacity.
    feedback: Feedback,
    log: Log,
    /// The time of the owner's last call.
    clock: Time,
}

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

    /// Stops sending. Data that the peer has not received yet is lost.
    pub fn reset(&mut self, id: StreamId, code: u64) -> Result<(), WriteError> {
        self.streams.reset(id, code)
    }

    /// The code with which the peer stopped our half of a stream; 0 if the half of a stream that
    /// the peer opened is gone already.
    pub fn stop_code(&self, id: StreamId) -> Option<u64> {
        self.streams.stop_code(id)
    }

    /// Asks the peer to send no more.
    pub fn stop(&mut self, id: StreamId, code: u64) -> Result<(), ReadError> {
        self.streams.stop(id, code)
    }

    pub fn peek(&mut self, id: StreamId) -> Result<Peek<'_>, ReadError> {
        self.streams.peek(id)
    }

    /// Whether fewer than `least` bytes can be read from the stream, and the peer can still send
    /// the others.
    pub fn awaits(&self, id: StreamId, least: usize) -> bool {
        self.streams.awaits(id, least)
    }

    /// Removes `count` bytes, which the caller has peeked at, from the stream.
    pub fn consume(&mut self, id: StreamId, count: usize) {
        self.streams.consume(id, count);
    }

    /// Whether frames about streams, such as raised limits, wait to be sent.
    pub fn has_stream_frames(&self) -> bool {
        self.streams.has_control()
    }

    pub fn read(&mut self, id: StreamId, into: &mut [u8]) -> Result<Read, ReadError> {
        self.streams.read(id, into)
    }

    /// Sends a PING.
    pub fn ping(&mut self) {
        self.control.ping();
    }

    /// Whether this is a client that may [migrate](Self::migrate) now. RFC 9000 §9 and §9.5.
    pub fn may_migrate(&self) -> bool {
        self.handshake.side() == Side::Client
            && self.handshake.is_confirmed()
            && self.config.migration
            && !self.handshake.peer_forbids_migration()
            && self.remote_ids.has_spare()
    }

    /// Continues from another address, as a client. Returns false if the server forbids it, or has
    /// given no spare id that would keep the move unlinkable. RFC 9000 §9.5.
    pub fn migrate(&mut self, now: Time, local: Option<IpAddr>) -> bool {
        if !self.may_migrate() || !self.remote_ids.renew() {
            return false;
        }
        self.clock = now;
        self.paths.migrate(now, local, self.recovery.pto());
        // The server follows any packet that does not only probe the path.
        self.control.ping();
        self.begin_on_path(None);
        self.stats.migrations += 1;
        true
    }

    /// Begins a new key phase; returns false if that is not permitted now. RFC 9001 §6.1.
    pub fn update_keys(&mut self) -> bool {
        self.crypto.update_keys()
    }

    /// Closes the connection; streams are cut off.
    pub fn close(&mut self, now: Time, code: u64, reason: &[u8]) {
        self.clock = now;
        let frame = CloseFrame::application(code, reason);
        self.send_close(frame, CloseReason::Local { code });
    }

    /// Refuses a connection that a client has begun, as if it had never been accepted. RFC 9000
    /// §5.2.2.
    pub fn refuse(&mut self, now: Time) {
        self.clock = now;
        let code = Code::CONNECTION_REFUSED.0;
        self.send_close(CloseFrame::refused(), CloseReason::Local { code });
    }

    /// Closes a connection that keeps more than the budget permits.
    pub(crate) fn evict(&mut self, now: Time) {
        self.clock = now;
        let code = Code::INTERNAL_ERROR.0;
        self.send_close(CloseFrame::evicted(), CloseReason::Local { code });
    }

    /// The client, and how much of its budget this connection counts for.
    pub(crate) fn counted(&self) -> Option<(IpAddr, u64)> {
        self.account.counted().filter(|_| self.closing.is_open())
    }

    /// Stops waiting for late packets of a connection that has ended.
    pub(crate) fn hasten(&mut self) {
        self.closing.hasten();
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

    /// Call this if the socket did not accept all of the burst that [`Self::transmit`] last
    /// returned. The rest is sent again as if it were lost, but does not count as loss on the path.
    pub fn on_unsent(&mut self) {
        self.recovery.on_unsent();
    }

    /// The network reports that the peer cannot be reached. Anyone can forge that message, so it is
    /// believed only until the first authentic packet arrives. RFC 9000 §21.1.
    pub fn on_unreachable(&mut self, now: Time, why: ErrorKind) {
        self.clock = now;
        let is_proven = self.stats.packets_received > 0 || self.handshake.was_retried();
        if !is_proven {
            self.give_up(CloseReason::Unreachable(why));
        }
    }

    /// The client's hello as TLS messages, as far as it has arrived without a gap; `None` if it is
    /// not, or no longer, held.
    pub fn hello(&self) -> Option<&[u8]> {
        self.crypto.held()
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

    /// Whether the peer's address may be forged: on a server, the client has not validated its
    /// address yet.
    pub fn is_unvalidated(&self) -> bool {
        self.handshake.side() == Side::Server
            && !self.handshake.is_complete()
            && !self.paths.is_validated()
    }

    /// Whether the connection has ended: nothing can be sent on streams any more.
    pub fn is_closed(&self) -> bool {
        !self.closing.is_open()
    }

    /// Whether the connection has nothing left to do and can be forgotten.
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

    /// Whether the server accepted early data; `None` if none was offered, or the answer is not
    /// known yet.
    pub fn early_accepted(&self) -> Option<bool> {
        self.crypto.early_accepted()
    }

    /// The number of bytes that the connection stores because the peer sent them, has not
    /// acknowledged them, or has not been sent them yet. The fixed memory of a connection is not
    /// counted.
    pub fn memory(&self) -> u64 {
        let kept = self.recovery.memory() + self.crypto.memory() + self.undecryptable.memory();
        kept as u64 + self.streams.memory()
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
            streams_given_up: streams.given_up,
            missing: self.received.iter().map(Received::missing).sum(),
            acked_after: self.recovery.acked_after(),
            ..self.stats
        }
    }

    /// The closing datagram, which this connection itself does not repeat.
    pub(crate) fn take_farewell(&mut self) -> Vec<u8> {
        self.closing.take_farewell()
    }

    /// Closes the connection because the peer broke a rule, or because a key has reached its limit
    /// of packets.
    fn fail(&mut self, error: &TransportError) {
        let why = CloseReason::by_rule(error, self.crypto.failure());
        self.send_close(CloseFrame::violated(error), why);
    }

    /// The peer has closed, or has forgotten the connection.
    fn drain(&mut self, why: CloseReason) {
        let until = (!self.is_unvalidated()).then(|| self.lingering());
        if self.closing.drain(until) {
            self.end(why);
        }
    }

    /// Ends the connection without sending CONNECTION_CLOSE.
    fn give_up(&mut self, why: CloseReason) {
        if self.closing.end() {
            self.end(why);
        }
    }

    fn send_close(&mut self, frame: CloseFrame, why: CloseReason) {
        if self.closing.close(frame, self.lingering()) {
            self.end(why);
        }
    }

    /// The time until which packets of an ended connection may still come. RFC 9000 §10.2. A peer
    /// must not be able to prolong it by acknowledging late.
    fn lingering(&self) -> Time {
        self.clock
            .after((3 * self.recovery.pto()).min(MAX_LINGERING))
    }

    /// Drops everything but the keys and the closing frame: the answer to a packet from the peer
    /// now needs only these.
    fn end(&mut self, why: CloseReason) {
        self.undecryptable.clear();
        self.streams.end(&self.config);
        self.crypto.end();
        self.recovery.end();
        self.account.release();
        self.log.on_closed(self.clock, &why);
        self.events.push(Event::Closed(why));
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("side", &self.handshake.side())
            .field("state", &self.closing.state())
            .field("remote", &self.paths.remote())
            .finish_non_exhaustive()
    }
}
