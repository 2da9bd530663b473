//! The streams of a connection: what was written, what came, and how much either side may send. RFC
//! 9000 §2–4.
//!
//! `outgoing` and `incoming` are the two halves of a stream. The application's calls are in
//! `application`, the effects of the peer's frames in `arrival`, what goes into packets in
//! `assembly` and `control`, and its acknowledgement or loss in `feedback`. Packets, keys and times
//! belong to `connection`.

mod application;
mod arrival;
mod assembly;
mod control;
mod ending;
mod feedback;
mod fit;
mod holes;
mod id;
mod incoming;
mod limits;
mod memory;
mod outcome;
mod outgoing;
mod pieces;
mod ring;
mod slab;
mod stream;
mod table;
#[cfg(test)]
mod tests;
mod turn;
mod writers;

use std::collections::VecDeque;

use roundtrip_wire::quic::{Parameters, Side};

use crate::{Time, Transport};
pub use id::{Dir, StreamId};
pub(crate) use memory::granted;
pub(crate) use outcome::StreamCounters;
pub use outcome::{Peek, Read, ReadError, StreamEvent, WriteError};

use limits::{Own, Receiving, Sending, Theirs};
use outgoing::Outgoing;
use ring::Spares;
use slab::Slab;
use turn::StreamQueue;

/// Smaller send buffers are not worth their bookkeeping.
const MIN_SEND_BUFFER: u64 = 4096;
/// The size of the send buffer while the congestion window is small: a few bursts.
const FIRST_SEND_BUFFER: u64 = 512 << 10;
/// The buffer holds twice the window, because the window may double in a round trip.
const WINDOWS_BUFFERED: u64 = 2;
/// What each stream may write even if the others have filled the buffer, or the peer does not let
/// it send.
const RESERVE: u64 = 16 << 10;
/// The largest number of out-of-order pieces; there may be one more for each KiB of the
/// connection's window.
const MIN_FRAGMENTS: u64 = 1024;

/// All streams of one connection, with the limits of both sides.
///
/// `connection` is the only caller, in this order:
///
/// 1. [`Self::set_peer`], first with the limits remembered for early data, then with those of the
///    handshake; nothing can be sent before it.
/// 2. The application's calls (`application`): open, write, read, reset, stop. They change what the
///    next packet carries, and send nothing themselves.
/// 3. For each packet that arrives, the effects of its frames (`arrival`); then the application
///    takes the events from [`Self::poll`] until there are none.
/// 4. For each packet that leaves, the frames that fit into it (`assembly`, `control`). What they
///    contain counts as sent from then on.
/// 5. For each sent frame, exactly one call of `feedback`: it was acknowledged, or it was lost and
///    is sent again.
/// 6. [`Self::end`], when the connection closes: data that was not sent or read by then is lost.
#[derive(Debug)]
pub(crate) struct Streams {
    side: Side,
    slab: Slab,
    own: PerStreamKind<Own>,
    theirs: PerStreamKind<Theirs>,
    receiving: Receiving,
    sending: Sending,
    /// The number of unread bytes that the peer may send on each stream: the current limit, and the
    /// one announced at first.
    stream_window: u64,
    first_limit: u64,
    /// The number of bytes that this side may send on each stream before the peer raises the limit.
    initial: InitialStreamLimits,
    /// Streams with new data that their own limit permits.
    ready: StreamQueue,
    /// Streams with something to send that no limit restricts.
    urgent: StreamQueue,
    /// Streams with other frames to send.
    control: StreamQueue,
    /// Streams whose writer waits for room in the buffer.
    writers: StreamQueue,
    /// The number of bytes that the first of `ready` has sent in its turn.
    turn: u64,
    /// The limit for written but unacknowledged data: as much as the path can use.
    send_buffer: u64,
    max_send_buffer: u64,
    configured: Configured,
    /// The number of bytes in the send buffer.
    held: u64,
    spares: Spares,
    /// The largest number of pieces of data behind gaps.
    max_fragments: usize,
    /// A lower bound for the arrival time of every piece behind a gap.
    oldest_piece: Time,
    /// The present time, as the last call of `set_clock` said.
    clock: Time,
    /// The stream of the last frame, and its key.
    recent: (StreamId, u32),
    events: VecDeque<StreamEvent>,
    counters: StreamCounters,
}

/// The limits that are reduced when a budget runs short.
#[derive(Debug, Clone, Copy)]
struct Configured {
    send_buffer: u64,
    window: u64,
    stream_window: u64,
    bidi_streams: u64,
}

/// One value for each direction.
#[derive(Debug, Default)]
struct PerStreamKind<T> {
    bidi: T,
    uni: T,
}

/// The peer's `initial_max_stream_data_*`. RFC 9000 §18.2.
#[derive(Debug, Default)]
struct InitialStreamLimits {
    bidi_local: u64,
    bidi_remote: u64,
    uni: u64,
}

impl Streams {
    pub(crate) fn new(side: Side, config: &Transport) -> Self {
        let max_send_buffer = config.send_buffer.max(MIN_SEND_BUFFER);
        let max_fragments = MIN_FRAGMENTS.saturating_add(config.window >> 10);
        Self {
            side,
            slab: Slab::default(),
            own: PerStreamKind::default(),
            theirs: PerStreamKind {
                bidi: Theirs::new(config.bidi_streams),
                uni: Theirs::new(config.uni_streams),
            },
            receiving: Receiving::new(config.window),
            sending: Sending::default(),
            stream_window: config.stream_window,
            first_limit: config.stream_window,
            initial: InitialStreamLimits::default(),
            ready: StreamQueue::default(),
            urgent: StreamQueue::default(),
            control: StreamQueue::default(),
            writers: StreamQueue::default(),
            turn: 0,
            send_buffer: max_send_buffer.min(FIRST_SEND_BUFFER),
            max_send_buffer,
            configured: Configured {
                send_buffer: max_send_buffer,
                window: config.window,
                stream_window: config.stream_window,
                bidi_streams: config.bidi_streams,
            },
            held: 0,
            spares: Spares::default(),
            max_fragments: usize::try_from(max_fragments).unwrap_or(usize::MAX),
            oldest_piece: Time::ZERO,
            clock: Time::ZERO,
            recent: (StreamId(u64::MAX), u32::MAX),
            events: VecDeque::new(),
            counters: StreamCounters::default(),
        }
    }

    /// Applies the peer's limits: the remembered parameters before early data is sent, and the
    /// actual ones once they are known. Limits only rise; if early data was refused, call
    /// [`Streams::refuse_early`] first.
    pub(crate) fn set_peer(&mut self, parameters: &Parameters) {
        self.initial = InitialStreamLimits {
            bidi_local: parameters.initial_max_stream_data_bidi_local,
            bidi_remote: parameters.initial_max_stream_data_bidi_remote,
            uni: parameters.initial_max_stream_data_uni,
        };
        self.sending.raise(parameters.initial_max_data);
        for stream in self.slab.streams_mut() {
            if let Some(outgoing) = &mut stream.outgoing {
                outgoing.raise(self.initial.limit(stream.id, self.side));
            }
        }
        self.raise_own(Dir::Bidi, parameters.initial_max_streams_bidi);
        self.raise_own(Dir::Uni, parameters.initial_max_streams_uni);
        let keys: Vec<u32> = self.slab.keys().collect();
        for key in keys {
            self.schedule(key);
            self.wake_raised(key);
        }
    }

    /// The next event; events about ended streams are dropped.
    pub(crate) fn poll(&mut self) -> Option<StreamEvent> {
        loop {
            let event = self.events.pop_front()?;
            match event {
                StreamEvent::Opened(dir) => self.theirs.get_mut(dir).told = false,
                StreamEvent::Readable(id) => {
                    let stream = self.find(id).and_then(|key| self.slab.get_mut(key));
                    match stream.and_then(|stream| stream.incoming.as_mut()) {
                        Some(incoming) if !incoming.is_stopped() => incoming.told = false,
                        _ => continue,
                    }
                }
                _ => {}
            }
            return Some(event);
        }
    }

    pub(crate) fn counters(&self) -> StreamCounters {
        StreamCounters {
            bytes_received: self.receiving.received(),
            ..self.counters
        }
    }

    /// Whether data has arrived while earlier data is missing.
    pub(crate) fn has_gap(&self) -> bool {
        self.spares.pieces.count > 0
    }

    /// The number of streams, of both sides, on which something is still to be sent, received or
    /// read.
    pub(crate) fn count(&self) -> usize {
        self.slab.len()
    }

    /// Handles the end of the connection: unsent and unread data is lost.
    pub(crate) fn end(&mut self, config: &Transport) {
        let ended = std::mem::replace(self, Self::new(self.side, config));
        self.clock = ended.clock;
        self.counters = ended.counters;
        self.receiving = ended.receiving;
    }

    /// Frees the memory that is kept ready for the next data, since the connection rests.
    pub(crate) fn rest(&mut self) {
        self.spares.clear();
    }

    /// The key of a stream that is not over.
    fn find(&self, id: StreamId) -> Option<u32> {
        if id == self.recent.0 && self.slab.get(self.recent.1).is_some() {
            return Some(self.recent.1);
        }
        if id.is_opened_by(self.side) {
            self.own.get(id.dir()).table.get(id.index())
        } else {
            self.theirs.get(id.dir()).table.get(id.index())
        }
    }

    fn outgoing_mut(&mut self, key: u32) -> Option<&mut Outgoing> {
        self.slab.get_mut(key)?.outgoing.as_mut()
    }

    /// Puts the stream into the queues where it belongs now, and removes it from the others.
    fn schedule(&mut self, key: u32) {
        let Some(stream) = self.slab.get_mut(key) else {
            return;
        };
        // Early data was refused, and the peer's true limit is smaller than the remembered one.
        let is_withheld = stream.id.is_opened_by(self.side)
            && stream.id.index() >= self.own.get(stream.id.dir()).limit;
        if let Some(outgoing) = &mut stream.outgoing {
            let is_ready = !is_withheld && outgoing.sendable() > 0;
            self.ready.set(key, &mut outgoing.ready, is_ready);
            let is_urgent = !is_withheld && outgoing.is_urgent();
            self.urgent.set(key, &mut outgoing.urgent, is_urgent);
            stream.pending.blocked |= outgoing.note_blocked();
            if is_ready && self.sending.credit() == 0 {
                self.sending.note_blocked();
            }
        }
        let has_control = !is_withheld && stream.pending.any();
        self.control.set(key, &mut stream.control, has_control);
    }

    fn raise_own(&mut self, dir: Dir, limit: u64) {
        let own = self.own.get_mut(dir);
        if limit <= own.limit {
            return;
        }
        let withheld = own.limit..limit.min(own.table.count());
        own.limit = limit;
        own.blocked_pending = false;
        if std::mem::take(&mut own.wanted) {
            self.events.push_back(StreamEvent::Available(dir));
        }
        for index in withheld {
            if let Some(key) = self.own.get(dir).table.get(index) {
                self.schedule(key);
            }
        }
    }
}

impl<T> PerStreamKind<T> {
    fn get(&self, dir: Dir) -> &T {
        match dir {
            Dir::Bidi => &self.bidi,
            Dir::Uni => &self.uni,
        }
    }

    fn get_mut(&mut self, dir: Dir) -> &mut T {
        match dir {
            Dir::Bidi => &mut self.bidi,
            Dir::Uni => &mut self.uni,
        }
    }
}

impl InitialStreamLimits {
    /// What `side` may send on the stream at first.
    fn limit(&self, id: StreamId, side: Side) -> u64 {
        match (id.dir(), id.is_opened_by(side)) {
            (Dir::Uni, _) => self.uni,
            (Dir::Bidi, true) => self.bidi_remote,
            (Dir::Bidi, false) => self.bidi_local,
        }
    }
}
