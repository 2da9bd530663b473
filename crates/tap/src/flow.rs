//! One TCP connection of the program: what its calls and the kernel's counters report, cut into
//! exchanges.
//!
//! Pure, given its input: moments, counters, and bytes that were looked at. `exchange` turns a turn
//! into the [`Exchange`](roundtrip_model::Exchange) that the report shows.

mod exchange;

use std::net::SocketAddr;
use std::time::Duration;

use roundtrip_model::{Event, Moment};
use roundtrip_net::{ForeignConnection, TcpInfo};

use crate::client_bytes::{ClientBytes, Protocol, Written};
use crate::server_bytes::ServerBytes;
use crate::turn::{ExchangeParts, MAX_CONTROL, MAX_SETTINGS, MAX_TICKETS};

pub(crate) use exchange::{Surroundings, failed};

/// The bytes of the interim answer `100 Continue` as one record, for each overhead that a TLS
/// version adds. RFC 9110 §15.2.1.
const CONTINUE_RECORDS: [u64; 3] = [25 + 5 + 17, 25 + 5 + 24, 25 + 5 + 16];

/// Refused early data is sent again within this time.
const SOON: Duration = Duration::from_millis(10);
/// The longest time after the request in which to look for an answer that may have arrived already.
const MAX_LOOK: Duration = Duration::from_secs(5);

/// The process that has the connection's socket, and the number of its descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Holder {
    pub(crate) process: i32,
    pub(crate) descriptor: i32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FlowState {
    /// The SYN-ACK is awaited. With fast open, the SYN waits for the first write.
    Opening,
    Open,
    /// The connection was never opened.
    Failed(Moment),
}

#[derive(Debug)]
pub(crate) struct Flow {
    pub(crate) holder: Holder,
    pub(crate) peer: SocketAddr,
    pub(crate) local: Option<SocketAddr>,
    pub(crate) began: Moment,
    pub(crate) opened: Option<Moment>,
    pub(crate) stage: FlowState,
    /// The first write came before the SYN-ACK: fast open.
    deferred: Option<u64>,
    pub(crate) bystander: ForeignConnection,
    pub(crate) spoken: ClientBytes,
    pub(crate) heard: ServerBytes,
    /// A write whose outcome is not known yet.
    pending: Option<Pending>,
    /// The number of bytes that the kernel has accepted, as far as the tap has seen.
    accepted: u64,
    /// What the program sent was seen only in the kernel's counters.
    is_unseen: bool,
    turn: ExchangeParts,
    handshake: HandshakeTimes,
    /// The number of exchanges on the connection so far.
    pub(crate) turns: u32,
    peer_closed: Option<Moment>,
}

/// When the steps of the TLS handshake happened.
#[derive(Debug, Default)]
struct HandshakeTimes {
    hello: Option<Moment>,
    finished: Option<Moment>,
    last_arrival: Option<Moment>,
    /// The request was sent early, and again after the handshake.
    repeated: Option<Moment>,
    early: bool,
    /// Whether something came between the client's Finished and its request.
    had_tickets: bool,
    bytes_sent: u64,
    bytes_received: u64,
}

#[derive(Debug)]
struct Pending {
    at: Moment,
    bytes: Vec<u8>,
    length: u64,
}

impl Flow {
    pub(crate) fn new(holder: Holder, peer: SocketAddr, began: Moment) -> Self {
        let mut turn = ExchangeParts::default();
        turn.note(began, Event::AttemptStarted { peer });
        Self {
            holder,
            peer,
            local: None,
            began,
            opened: None,
            stage: FlowState::Opening,
            deferred: None,
            bystander: ForeignConnection::default(),
            spoken: ClientBytes::default(),
            heard: ServerBytes::default(),
            pending: None,
            accepted: 0,
            is_unseen: false,
            turn,
            handshake: HandshakeTimes::default(),
            turns: 0,
            peer_closed: None,
        }
    }

    /// Whether an answer is awaited, so that the counters are worth a look. Session tickets come
    /// before the first answer and may be mistaken for it, so after few bytes an answer is still
    /// awaited for a while.
    pub(crate) fn is_waiting(&self, now: Moment) -> bool {
        let came = self.turn.answer_bytes();
        let awaits = self.turn.request.is_some_and(|asked| {
            came == 0 || came <= self.unasked() && now.since(asked) < MAX_LOOK
        });
        self.stage == FlowState::Open && (self.pending.is_some() || awaits)
    }

    /// The number of bytes of the next write that are worth reading.
    pub(crate) fn appetite(&self) -> usize {
        self.spoken.appetite()
    }

    /// Whether arriving bytes are worth a look.
    pub(crate) fn is_curious(&self) -> bool {
        let clear = self.spoken.protocol() == Protocol::Http1;
        !self.heard.is_full() && (clear || !self.spoken.is_finished())
    }

    /// Handles a program that is about to write. If the write begins a new exchange, returns the
    /// one that it ends.
    pub(crate) fn writes(
        &mut self,
        now: Moment,
        info: &TcpInfo,
        bytes: Vec<u8>,
        length: u64,
        surroundings: &mut Surroundings<'_>,
    ) -> Option<roundtrip_model::Exchange> {
        // A SYN that waits for data has not been sent yet.
        if self.stage == FlowState::Opening && info.segments().sent == 0 {
            self.deferred.get_or_insert(length);
        }
        self.opens(now, info);
        let ended = self.settle(info, surroundings);
        // What came before this call cannot answer it: over a short path, tickets may come between
        // the client's Finished and its request.
        self.arrives(now, info);
        self.pending = Some(Pending {
            at: now,
            bytes,
            length,
        });
        ended
    }

    /// Notes that the connection has opened, if it has.
    fn opens(&mut self, now: Moment, info: &TcpInfo) {
        if self.stage != FlowState::Opening || !info.is_established() {
            return;
        }
        self.stage = FlowState::Open;
        self.bystander.opened(info, self.deferred);
        let peer = self.peer;
        if let Some((data_sent, data_acked)) = self.bystander.syn_data() {
            let connected = Event::Connected {
                peer,
                deferred: true,
            };
            self.turn.note(self.began, connected);
            let acked = Event::SynAcked {
                data_sent,
                data_acked,
            };
            self.turn.note(now, acked);
            self.opened = Some(self.began);
            return;
        }
        // The kernel knows how long the SYN-ACK took if the SYN was sent once.
        let took = info.rtt().filter(|_| info.retransmits() == 0);
        let at = took.map_or(now, |took| now.min(self.began + took));
        let connected = Event::Connected {
            peer,
            deferred: false,
        };
        self.turn.note(at, connected);
        self.opened = Some(at);
    }

    /// Handles an event of the socket: it was opened, something arrived, or it was closed. `looked`
    /// are bytes that the program has not read yet; they end where the kernel's received data ends.
    pub(crate) fn stirs(
        &mut self,
        now: Moment,
        info: &TcpInfo,
        looked: Option<&[u8]>,
        surroundings: &mut Surroundings<'_>,
    ) -> Option<roundtrip_model::Exchange> {
        // The kernel also reports a socket on which no SYN was sent yet.
        if self.stage == FlowState::Opening && info.is_closed() && info.segments().sent > 0 {
            self.fails(now);
            return None;
        }
        self.opens(now, info);
        if self.stage != FlowState::Open {
            return None;
        }
        let ended = if info.bytes_accepted() > self.accepted {
            self.settle(info, surroundings)
        } else {
            None
        };
        if let Some(looked) = looked {
            let offset = info.bytes_received().saturating_sub(looked.len() as u64);
            self.heard.add(offset, looked);
        }
        self.arrives(now, info);
        ended
    }

    /// Notes what has arrived and what was acknowledged by now.
    fn arrives(&mut self, now: Moment, info: &TcpInfo) {
        if self.stage != FlowState::Open {
            return;
        }
        let acknowledged = self.bystander.acknowledged(info);
        let (bytes, events) = self.bystander.received(now, info);
        if let Some(after) = acknowledged {
            self.turn.acknowledged(now, after, bytes > 0);
        }
        if bytes > 0 {
            self.spoken.answered();
            if self.turn.request.is_none() && self.handshake.finished.is_some() {
                self.handshake.had_tickets = true;
            }
            if self.turn.request.is_none() || self.handshake.early {
                self.handshake.bytes_received += bytes;
                self.handshake.last_arrival = Some(now);
            }
        }
        let rtt = self.bystander.min_rtt();
        self.turn.received(events, now, bytes, rtt);
    }

    /// The connection could not be opened.
    pub(crate) fn fails(&mut self, now: Moment) {
        if self.stage == FlowState::Opening {
            self.stage = FlowState::Failed(now);
        }
    }

    pub(crate) fn peer_closes(&mut self, now: Moment) {
        self.peer_closed.get_or_insert(now);
    }

    /// Accounts for the pending write, as far as the kernel has accepted it.
    fn settle(
        &mut self,
        info: &TcpInfo,
        surroundings: &mut Surroundings<'_>,
    ) -> Option<roundtrip_model::Exchange> {
        let taken = info.bytes_accepted().saturating_sub(self.accepted);
        self.accepted = self.accepted.max(info.bytes_accepted());
        let pending = self.pending.take();
        if taken == 0 {
            return None;
        }
        let Some(pending) = pending else {
            return self.sends_unseen(taken, info, surroundings);
        };
        let whole = pending.length.min(taken);
        let known = usize::try_from(whole).unwrap_or(usize::MAX);
        let known = pending.bytes.get(..known).unwrap_or(&pending.bytes);
        let written = self.spoken.read(known, whole);
        let ended = if self.begins_another(&written, pending.at) {
            self.next_turn(info, surroundings)
        } else {
            None
        };
        self.record(pending.at, whole, written);
        ended
    }

    /// Accounts for bytes that left although no call was noticed: short writes, those through a
    /// standard stream, and files that the kernel sends. If nothing else was ever sent, they are
    /// requests.
    fn sends_unseen(
        &mut self,
        bytes: u64,
        info: &TcpInfo,
        surroundings: &mut Surroundings<'_>,
    ) -> Option<roundtrip_model::Exchange> {
        let at = surroundings.now - info.idle().0;
        let is_request = self.spoken.protocol() == Protocol::Unknown;
        self.is_unseen |= is_request;
        let ended = if is_request && self.turn.answer_bytes() > 0 {
            self.next_turn(info, surroundings)
        } else {
            None
        };
        self.turn.sent(at.max(self.began), bytes, is_request);
        ended
    }

    /// Ends the exchange that is under way, and begins another one on the same connection.
    fn next_turn(
        &mut self,
        info: &TcpInfo,
        surroundings: &mut Surroundings<'_>,
    ) -> Option<roundtrip_model::Exchange> {
        let ended = self.conclude(surroundings);
        self.turn = ExchangeParts::on_kept(self.bystander.past());
        self.heard.begin(info.bytes_received());
        ended
    }

    /// Whether this write is a new request, because the previous one is answered.
    fn begins_another(&self, written: &Written, at: Moment) -> bool {
        let answer = self.turn.answer_bytes();
        let is_interim =
            CONTINUE_RECORDS.contains(&answer) && !self.spoken.may_be_http2() && self.is_tls();
        // HTTP/2 begins with settings of both sides, before or after the request.
        let is_control = answer <= MAX_CONTROL && self.spoken.may_be_http2();
        let is_answered = answer > 0 && !is_interim && !is_control && !self.may_be_unasked(at);
        written.request && is_answered && !self.repeats(written, at)
    }

    /// Whether everything that arrived since the request may be tickets and settings, so that a
    /// further write at this time may belong to the same request. Servers send these right after
    /// the client's Finished, and only their number of bytes distinguishes them from a small
    /// answer. The exchange then states that its answer was inferred.
    fn may_be_unasked(&self, at: Moment) -> bool {
        let rtt = self.bystander.min_rtt().unwrap_or_default();
        let soon = |finished: Moment| at.since(finished) < SOON + rtt;
        self.turn.answer_bytes() <= self.unasked() && self.handshake.finished.is_some_and(soon)
    }

    /// How many bytes the server may send unprompted before its first answer: tickets after a TLS
    /// 1.3 handshake, settings in HTTP/2.
    fn unasked(&self) -> u64 {
        if self.turns > 0 || !self.is_tls() {
            0
        } else if self.spoken.is_tls12() != Some(true) && !self.handshake.had_tickets {
            MAX_TICKETS
        } else if self.spoken.may_be_http2() {
            MAX_SETTINGS
        } else {
            0
        }
    }

    /// Whether this write repeats early data that the server refused: it follows Finished.
    fn repeats(&self, written: &Written, at: Moment) -> bool {
        let handshake = &self.handshake;
        let soon = |finished: Moment| at.since(finished) < SOON;
        self.turns == 0
            && handshake.early
            && written.request
            && (written.finished || handshake.finished.is_some_and(soon))
    }

    fn record(&mut self, at: Moment, bytes: u64, written: Written) {
        if self.repeats(&written, at) {
            self.handshake.repeated.get_or_insert(at);
        }
        let handshake = &mut self.handshake;
        if written.hello {
            handshake.hello.get_or_insert(at);
        }
        if written.finished {
            handshake.finished = Some(at);
        }
        handshake.early |= written.early;
        if self.turn.request.is_none() && !written.request {
            handshake.bytes_sent += bytes;
        }
        self.turn.sent(at, bytes, written.request);
        if self.turn.asked.is_none() {
            self.turn.asked = written.asked;
        }
    }

    fn is_tls(&self) -> bool {
        self.spoken.protocol() == Protocol::Tls
    }
}

#[cfg(test)]
mod tests;
