//! Finds losses, times probes, and counts bytes in flight. RFC 9002.
//!
//! A sent packet is one entry in a ring and a few additions. An acknowledgement settles consecutive
//! entries, and informs the controller once. Times and the state of the path are kept for each
//! burst.

mod acks;
mod datagrams;
mod delivery;
mod ecn;
mod feedback;
mod ledger;
mod losses;
mod numbers;
mod paths;
#[cfg(test)]
mod tests;
mod timers;

use std::time::Duration;

use roundtrip_wire::quic::number_length;

use crate::congestion::{Controller, controller};
use crate::mtu::Mtu;
use crate::pacer::Pacer;
use crate::rtt::Rtt;
use crate::sent::entry::{ELICITING, MARKED, MTU_PROBE, OUTSTANDING};
use crate::sent::{Bursts, Chunk, Items, SentFrame, SentPacket};
use crate::space::Space;
use crate::{Time, Transport};
pub(crate) use acks::AckContext;
use delivery::Delivery;
use ecn::Ecn;
pub(crate) use feedback::Feedback;
use ledger::Ledger;
use losses::Reordering;
use numbers::Skips;
use paths::LeftPath;

/// The largest number of packets that a space keeps: 4 MiB, and more than 150 MB in flight.
const MAX_PACKETS: usize = 1 << 17;
/// The least window that probes of paths and their answers are judged by.
const MIN_PROBING: u64 = 64 << 10;
/// A peer that makes us acknowledge but acknowledges nothing itself causes more and more
/// outstanding packets that elicit no acknowledgement. With this many outstanding, acknowledgements
/// are delayed: about 1 MiB is kept.
const MAX_PROMPT_ACKS: u64 = 1 << 13;
/// If this many such packets are outstanding after `MAX_UNANSWERED_PTOS` unanswered probe timeouts
/// in a row, the peer is considered to ignore us.
const MAX_UNANSWERED: u64 = 1 << 12;
const MAX_UNANSWERED_PTOS: u32 = 5;
/// The absolute limits of each space, whatever the timers say. The limits for the handshake are
/// lower.
const MAX_ACKS: [u64; 3] = [1 << 10, 1 << 10, 1 << 15];

/// Packets that were sent, until they are acknowledged or lost, with everything that depends on
/// them: timers, round-trip times, the congestion controller and the pacer.
///
/// `connection` is the only caller, in this order:
///
/// 1. For each burst, [`Self::begin_burst`]; then [`Self::permitted`] or [`Self::allowance`] says
///    how much may leave now, and [`Self::next_number`] and [`Self::on_sent`] follow for each
///    packet. All packets of a burst have the same time. [`Self::set_app_limited`] follows if the
///    burst ended because there was no more to send; otherwise an idle application would look like
///    a full path.
/// 2. For each acknowledgement, `on_ack`. It fills a `Feedback` with what was acknowledged and what
///    was lost, which the caller passes on to the owners of the frames.
/// 3. When `deadline` has passed, `on_timeout`: it declares losses in the same way, or asks for
///    probes ([`Self::probes`]), which the next burst carries ([`Self::on_probe_sent`]).
#[derive(Debug)]
pub(crate) struct Recovery {
    spaces: [Ledger; 3],
    bursts: Bursts,
    /// The number of the current burst, what it has put in flight, how many packets left with it,
    /// and whether it is marked.
    burst: u32,
    burst_bytes: u64,
    burst_packets: u64,
    mark: u8,
    items: Items,
    in_flight: u64,
    rtt: Rtt,
    max_ack_delay: Duration,
    controller: Box<dyn Controller>,
    pacer: Pacer,
    delivery: Delivery,
    reordering: Reordering,
    ecn: Ecn,
    skips: Skips,
    mtu: Mtu,
    /// How many packets of each space may be sent although the window is full. RFC 9002 §7.5.
    probes: [u8; 3],
    /// When pacing permits the next burst, if it held back the last.
    paced: Option<Time>,
    /// Whether a server may not send, because it has sent three times the bytes that it received.
    /// RFC 9002 §6.2.2.1.
    blocked: bool,
    ptos_in_a_row: u32,
    /// When a client with nothing in flight began to wait. RFC 9002 §6.2.2.1.
    anchor: Time,
    /// The time between the last acknowledgement and the departure of the newest packet that it
    /// settled, without the delay that the peer reports. RFC 9002 §5.3.
    acked_after: Duration,
    /// Packets of `Data` below this number were sent on a path that is no longer used.
    path_start: u64,
    left_path: Option<Box<LeftPath>>,
    counters: Counters,
}

/// The progress of the handshake, on which timers and round trips depend. RFC 9002 §6.2.1,
/// §6.2.2.1.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct HandshakeProgress {
    pub(crate) has_handshake_keys: bool,
    pub(crate) is_complete: bool,
    pub(crate) is_confirmed: bool,
    /// The peer has validated this side's address. Always true for a server; for a client after an
    /// acknowledgement in the Handshake space, or once confirmed.
    pub(crate) is_peer_validated: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    /// Packets of all kinds.
    pub(crate) sent: u64,
    pub(crate) lost: u64,
    pub(crate) lost_bytes: u64,
    /// Declared lost, and acknowledged later.
    pub(crate) spurious: u64,
    pub(crate) ptos: u64,
    pub(crate) bursts: u64,
    /// Packets that a router marked.
    pub(crate) congestion_marks: u64,
}

/// What may leave now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Allowance {
    /// This many datagrams, at least one.
    Packets(usize),
    /// No datagram, because the window is full.
    Window,
    /// No datagram before this time.
    Paced(Time),
}

/// What a timer was for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Timeout {
    /// Nothing was due.
    None,
    /// Packets are lost; the feedback lists them.
    Lost,
    /// Send `count` ack-eliciting packets in that space, whatever the window says. If anything is
    /// in flight, the feedback says what they should carry.
    Probe { space: Space, count: usize },
}

impl Recovery {
    /// `mtu` is the search on the first path; `seed` decides which packet numbers are skipped.
    pub(crate) fn new(now: Time, config: &Transport, mtu: Mtu, seed: u64) -> Self {
        Self {
            spaces: Default::default(),
            bursts: Bursts::new(),
            burst: 0,
            burst_bytes: 0,
            burst_packets: 0,
            mark: 0,
            items: Items::default(),
            in_flight: 0,
            rtt: Rtt::new(config.initial_rtt),
            max_ack_delay: Duration::from_millis(25),
            controller: controller(config.congestion, mtu.current()),
            pacer: Pacer::new(config.pacing),
            delivery: Delivery::default(),
            reordering: Reordering::default(),
            ecn: Ecn::new(config.ecn),
            skips: Skips::new(seed),
            mtu,
            probes: [0; 3],
            paced: None,
            blocked: false,
            ptos_in_a_row: 0,
            anchor: now,
            acked_after: Duration::ZERO,
            path_start: 0,
            left_path: None,
            counters: Counters::default(),
        }
    }

    /// Takes the number of the next packet, which has to be sent before another number is taken;
    /// otherwise the number counts as skipped.
    #[inline]
    pub(crate) fn next_number(&mut self, space: Space) -> u64 {
        let ledger = &mut self.spaces[space.index()];
        let mut number = ledger.number;
        if space == Space::Data && self.skips.skip(number) {
            number += 1;
        }
        ledger.number = number + 1;
        number
    }

    /// The number of the next packet, or the one below it if that is skipped.
    pub(crate) fn upcoming(&self, space: Space) -> u64 {
        self.spaces[space.index()].number
    }

    #[cfg(test)]
    pub(crate) fn largest_acked(&self, space: Space) -> Option<u64> {
        self.spaces[space.index()].largest_acked
    }

    /// How many bytes the number of a packet takes if at most `ahead` packets are sent before it.
    /// RFC 9000 §17.1.
    pub(crate) fn number_length(&self, space: Space, ahead: u64) -> usize {
        let ledger = &self.spaces[space.index()];
        number_length(ledger.number + ahead, ledger.largest_acked)
    }

    /// Begins a burst that leaves at `now`; all packets sent from here on belong to it.
    pub(crate) fn begin_burst(&mut self, now: Time) {
        self.paced = None;
        self.end_burst();
        if self.in_flight == 0 {
            self.give_memory_back(now);
        }
        self.delivery.on_burst(now, self.in_flight);
        let burst = self.delivery.burst(now, self.in_flight);
        self.bursts.begin(burst, self.burst_packets > 0);
        self.counters.bursts += u64::from(self.burst_packets > 0);
        self.burst = self.bursts.newest();
        self.burst_packets = 0;
        self.mark = u8::from(self.ecn.marks());
    }

    /// Whether the datagrams of this burst carry ECT(0).
    pub(crate) fn ecn_mark(&self) -> bool {
        self.mark > 0
    }

    /// How many of the `want`ed datagrams congestion control and pacing permit, but at least the
    /// probes that are due. RFC 9002 §7.5.
    pub(crate) fn permitted(&mut self, now: Time, size: u16, want: usize, probes: u8) -> usize {
        let allowed = match self.allowance(now, size, want) {
            Allowance::Packets(count) => count.min(want),
            Allowance::Window => 0,
            Allowance::Paced(until) => {
                self.paced = Some(until);
                0
            }
        };
        allowed.max(usize::from(probes).min(want))
    }

    /// When the burst that pacing held back may leave.
    pub(crate) fn paced(&self) -> Option<Time> {
        self.paced
    }

    /// Forgets the time at which pacing permits the next packet, once it has come.
    pub(crate) fn forget_paced(&mut self, now: Time) {
        self.paced = self.paced.filter(|until| *until > now);
    }

    /// How many probes to send in that space, whatever the window says.
    #[inline]
    pub(crate) fn probes(&self, space: Space) -> u8 {
        self.probes[space.index()]
    }

    pub(crate) fn on_probe_sent(&mut self, space: Space) {
        let probes = &mut self.probes[space.index()];
        *probes = probes.saturating_sub(1);
    }

    /// Cancels the probes of that space, because their answer is already known.
    pub(crate) fn cancel_probes(&mut self, space: Space) {
        self.probes[space.index()] = 0;
    }

    /// The number of datagrams, up to `want`, that may be sent now.
    pub(crate) fn allowance(&mut self, now: Time, datagram: u16, want: usize) -> Allowance {
        self.end_burst();
        let room = self.controller.window().saturating_sub(self.in_flight);
        let fit = usize::try_from(room / u64::from(datagram.max(1))).unwrap_or(usize::MAX);
        let kept = self.spaces.iter().map(Ledger::len).max().unwrap_or(0);
        let fit = fit.min((MAX_PACKETS / 2).saturating_sub(kept)).min(want);
        if fit == 0 {
            return Allowance::Window;
        }
        let rate = self.controller.pacing_rate(self.rtt.smoothed());
        match self.pacer.allowance(now, rate, datagram, fit) {
            Ok(count) => Allowance::Packets(count),
            Err(until) => Allowance::Paced(until),
        }
    }

    /// Whether a path may be probed, or a probe answered, although the window may be full: the peer
    /// decides how often that happens. The path may be another one, so what was lost on this one
    /// must not prevent it. RFC 9000 §8.2.2.
    pub(crate) fn may_probe_path(&self) -> bool {
        let kept = self.spaces[Space::Data.index()].len();
        let window = self.controller.window().max(MIN_PROBING);
        kept < MAX_PACKETS / 2 && self.in_flight < window.saturating_mul(2)
    }

    /// Records a packet that left with the current burst. A packet that elicits no acknowledgement
    /// does not count as in flight, even if padded.
    #[inline]
    pub(crate) fn on_sent(
        &mut self,
        space: Space,
        number: u64,
        size: u16,
        chunk: Option<Chunk>,
        items: &mut Vec<SentFrame>,
        eliciting: bool,
    ) {
        let mut flags = OUTSTANDING | (MARKED * self.mark);
        let mut chain = 0;
        if !items.is_empty() {
            // A packet that probes a path may be lost because of it.
            let is_probe = |item: &SentFrame| {
                matches!(item, SentFrame::MtuProbe(_) | SentFrame::PathChallenge(_))
            };
            flags |= MTU_PROBE * u8::from(items.iter().any(is_probe));
            chain = self.items.keep(items);
        }
        let size = size * u16::from(eliciting);
        flags |= ELICITING * u8::from(eliciting);
        let index = space.index();
        if number != self.spaces[index].next() || self.spaces[index].is_full() {
            self.make_room(space, number);
        }
        let ledger = &mut self.spaces[index];
        ledger.push(SentPacket::new(chunk, self.burst, chain, size, flags));
        if eliciting {
            ledger.eliciting += 1;
            ledger.last_eliciting = self.burst;
        } else {
            ledger.silent += 1;
        }
        ledger.marked += u64::from(self.mark);
        self.in_flight += u64::from(size);
        self.burst_bytes += u64::from(size);
        self.burst_packets += 1;
    }

    #[cold]
    fn make_room(&mut self, space: Space, number: u64) {
        let ledger = &mut self.spaces[space.index()];
        self.in_flight -= ledger.make_room(number, &mut self.items, MAX_PACKETS);
        self.release_bursts();
    }

    /// Reports the bytes that the current burst has put in flight so far to the congestion
    /// controller, the pacer and ECN. Methods that need this call it themselves, so calling it
    /// after each burst is optional.
    pub(crate) fn end_burst(&mut self) {
        let bytes = std::mem::take(&mut self.burst_bytes);
        if bytes == 0 {
            return;
        }
        let burst = self.bursts.current_mut();
        burst.in_flight = self.in_flight;
        let now = burst.time;
        self.controller
            .on_sent(now, bytes, self.in_flight.saturating_sub(bytes));
        self.pacer.on_sent(bytes);
        let now_sent = self.spaces.iter().map(|ledger| ledger.marked).sum();
        self.ecn.on_sent(now_sent);
    }

    /// Notes that there is nothing more to send although the window has room. Call it within the
    /// burst that used up the data.
    pub(crate) fn set_app_limited(&mut self, datagram: u16) {
        if self.in_flight + u64::from(datagram) <= self.controller.window() {
            self.delivery.set_app_limited(self.in_flight);
            self.bursts.current_mut().app_limited = true;
        }
    }

    pub(crate) fn set_max_ack_delay(&mut self, delay: Duration) {
        self.max_ack_delay = delay;
    }

    pub(crate) fn set_blocked(&mut self, blocked: bool) {
        self.blocked = blocked;
    }

    pub(crate) fn rtt(&self) -> &Rtt {
        &self.rtt
    }

    pub(crate) fn acked_after(&self) -> Duration {
        self.acked_after
    }

    pub(crate) fn in_flight(&self) -> u64 {
        self.in_flight
    }

    pub(crate) fn window(&self) -> u64 {
        self.controller.window()
    }

    #[cfg(test)]
    pub(crate) fn has_in_flight_eliciting(&self, space: Space) -> bool {
        self.spaces[space.index()].eliciting > 0
    }

    /// Whether many packets have left in a row without one that the peer must acknowledge: after
    /// one PING, their entries can be freed.
    pub(crate) fn needs_ping(&self, space: Space) -> bool {
        let ledger = &self.spaces[space.index()];
        ledger.eliciting == 0 && ledger.len() >= 32
    }

    /// Whether so many acknowledgements are outstanding that the next ones should be delayed.
    pub(crate) fn has_many_acks(&self) -> bool {
        self.spaces[Space::Data.index()].silent >= MAX_PROMPT_ACKS
    }

    /// Whether the peer sends, but acknowledges none of our packets, not even PINGs. RFC 9000
    /// §13.2.1 requires it to.
    pub(crate) fn is_ignored(&self) -> bool {
        self.spaces.iter().zip(MAX_ACKS).any(|(ledger, most)| {
            ledger.silent >= most
                || (ledger.silent >= MAX_UNANSWERED && self.ptos_in_a_row >= MAX_UNANSWERED_PTOS)
        })
    }

    /// The number of bytes of memory that sent packets occupy.
    pub(crate) fn memory(&self) -> usize {
        let rings: usize = self.spaces.iter().map(|ledger| ledger.ring.memory()).sum();
        rings + self.bursts.memory() + self.items.memory()
    }

    /// Whether marks arrive and the peer reports them.
    pub(crate) fn is_ecn_capable(&self) -> bool {
        self.ecn.is_capable()
    }

    pub(crate) fn ptos_in_a_row(&self) -> u32 {
        self.ptos_in_a_row
    }

    #[cfg(test)]
    pub(crate) fn counters(&self) -> Counters {
        let sent = self.spaces.iter().map(Ledger::sent).sum();
        let bursts = self.counters.bursts + u64::from(self.burst_packets > 0);
        Counters {
            sent,
            bursts,
            ..self.counters
        }
    }
}
