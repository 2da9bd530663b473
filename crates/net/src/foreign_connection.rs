//! Follows a connection that another process owns, from the kernel's counters alone.
//!
//! The caller holds a duplicate of the socket for a moment, reads [`TcpInfo`], and passes it in
//! with the time. A bystander changes no option of the socket and reads nothing from it, so it has
//! no timestamps of single segments: an arrival's time is when the caller noticed it.

use std::net::SocketAddr;
use std::time::Duration;

use roundtrip_model::{Event, FastOpenFacts, KeptFacts, Moment, TcpFacts};

use crate::TcpInfo;
use crate::wait::{AwaitedArrival, WaitTracker};

/// The weight of a new sample in the smoothed round trip. RFC 6298 §2.3.
const NEW_WEIGHT: f64 = 1.0 / 8.0;
const OLD_WEIGHT: f64 = 1.0 - NEW_WEIGHT;
/// If more samples than this arrive at once, the smoothed round trip says little about each.
const MAX_SAMPLES: i32 = 4;

/// The state of a followed connection.
#[derive(Debug, Default)]
pub struct ForeignConnection {
    waits: WaitTracker,
    last: Option<TcpInfo>,
    handshake_rtt: Option<Duration>,
    syn_retransmits: u32,
    first_mss: u32,
    announced_mss: Option<u32>,
    peer_window: u64,
    received: u64,
    /// The time when segments behind the still open gap were first seen, and the counter at that
    /// time.
    gap: Option<Moment>,
    out_of_order: u32,
    fast_open: FastOpenFacts,
}

impl ForeignConnection {
    /// Notes that the connection is open. With fast open, `data_sent` bytes were written before.
    pub fn opened(&mut self, info: &TcpInfo, data_sent: Option<u64>) {
        self.handshake_rtt = info.rtt();
        self.syn_retransmits = info.retransmits();
        self.first_mss = info.mss();
        self.announced_mss = info.announced_mss();
        if let Some(sent) = data_sent {
            let acked = info.syn_data_acked(sent);
            self.fast_open = FastOpenFacts {
                asked: true,
                cookie: info.took_syn_data() || info.resent_syn_data(),
                data_sent: sent,
                data_acked: acked,
                saved_round_trips: u32::from(sent > 0 && acked == sent),
                kernel_says: None,
            };
        }
        self.waits.opened(info.counters());
        self.note(info);
    }

    /// How many bytes a fast-open connection sent in its SYN, and how many the SYN-ACK
    /// acknowledged.
    pub fn syn_data(&self) -> Option<(u64, u64)> {
        let facts = &self.fast_open;
        facts.asked.then_some((facts.data_sent, facts.data_acked))
    }

    /// Notes an arrival. Returns the number of bytes, and the events that the kernel counted during
    /// the wait.
    pub fn received(&mut self, now: Moment, info: &TcpInfo) -> (u64, Vec<(Moment, Event)>) {
        let bytes = info.bytes_received().saturating_sub(self.received);
        if bytes == 0 {
            let gap = self.looked(now, info).map(|event| (now, event));
            return (0, gap.into_iter().collect());
        }
        let arrival = AwaitedArrival {
            now,
            first: Some(self.gap.take().unwrap_or(now)),
            second: None,
            last: Some(now),
        };
        let (at, mut events) = self.waits.ended(arrival, info.counters());
        events.push((at, Event::Received { bytes }));
        self.waits.ran_dry(now, info.counters());
        self.received = info.bytes_received();
        self.out_of_order = info.out_of_order();
        self.note(info);
        (bytes, events)
    }

    /// Reads the counters while nothing can be read. Returns an event if segments have arrived
    /// behind a gap.
    fn looked(&mut self, now: Moment, info: &TcpInfo) -> Option<Event> {
        let segments = info.out_of_order().saturating_sub(self.out_of_order);
        self.note(info);
        if segments == 0 {
            return None;
        }
        self.out_of_order = info.out_of_order();
        self.gap.get_or_insert(now);
        Some(Event::GapOpened {
            segments,
            short: false,
        })
    }

    /// An upper bound of the time from the last write to its acknowledgement, if few segments that
    /// acknowledge everything have arrived since the last look. The kernel reports only its
    /// smoothed round trip, in which the newest sample has a weight of an eighth (RFC 6298 §2.3);
    /// each segment can have been a sample.
    pub fn acknowledged(&self, info: &TcpInfo) -> Option<Duration> {
        let last = self.last?;
        let (before, now) = (last.segments(), info.segments());
        let came = i32::try_from(now.received.checked_sub(before.received)?).ok()?;
        let is_all = info.bytes_acked() > last.bytes_acked() && info.has_nothing_under_way();
        if !(1..=MAX_SAMPLES).contains(&came) || now.resent > before.resent || !is_all {
            return None;
        }
        let [old, new] = [last.rtt()?, info.rtt()?].map(|rtt| rtt.as_secs_f64());
        let shortest = self.min_rtt()?.as_secs_f64().min(old);
        Duration::try_from_secs_f64(longest_sample(old, new, shortest, came)).ok()
    }

    /// The smallest round trip so far.
    pub fn min_rtt(&self) -> Option<Duration> {
        let last = self.last.and_then(|info| info.min_rtt());
        [last, self.handshake_rtt].into_iter().flatten().min()
    }

    /// The connection's history so far, for a later exchange on it.
    pub fn past(&self) -> Option<KeptFacts> {
        self.last.map(|info| info.past())
    }

    pub fn facts(&self, local: Option<SocketAddr>, peer: SocketAddr) -> TcpFacts {
        let mut facts = TcpFacts {
            local,
            peer: Some(peer),
            fast_open: self.fast_open.clone(),
            handshake_rtt: self.handshake_rtt,
            syn_retransmits: self.syn_retransmits,
            first_mss: self.first_mss,
            announced_mss: self.announced_mss,
            peer_window: self.peer_window,
            ..TcpFacts::default()
        };
        if let Some(info) = &self.last {
            info.fill(&mut facts);
        }
        facts
    }

    fn note(&mut self, info: &TcpInfo) {
        // A closed connection has no counters.
        if !info.is_closed() {
            self.peer_window = self.peer_window.max(info.peer_window());
            self.last = Some(*info);
        }
    }
}

/// The longest of `count` samples that changed the smoothed round trip from `old` to `new`: the
/// first, if the others were as short as possible.
fn longest_sample(old: f64, new: f64, least: f64, count: i32) -> f64 {
    let rest = OLD_WEIGHT.powi(count - 1);
    let sample = (new - old * rest * OLD_WEIGHT - least * (1.0 - rest)) / (rest * NEW_WEIGHT);
    sample.max(least)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_bystander_counts_what_the_owner_reads() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut owner = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut peer, address) = listener.accept().unwrap();
        let info = || TcpInfo::from_socket(&owner).unwrap();
        let mut bystander = ForeignConnection::default();
        assert!(info().is_established() && !info().is_opening());
        bystander.opened(&info(), None);
        let (none, events) = bystander.received(Moment(1), &info());
        assert_eq!((none, events), (0, vec![]));
        peer.write_all(&[7; 1000]).unwrap();
        owner.peek(&mut [0]).unwrap();
        let (bytes, events) = bystander.received(Moment(5), &info());
        assert_eq!(bytes, 1000);
        let arrival = (Moment(5), Event::Received { bytes: 1000 });
        assert_eq!(events.last(), Some(&arrival));
        owner.read_exact(&mut [0; 1000]).unwrap();
        owner.write_all(&[8; 300]).unwrap();
        let info = TcpInfo::from_socket(&owner).unwrap();
        assert_eq!(info.bytes_accepted(), 300);
        assert_eq!(bystander.received(Moment(6), &info).0, 0);
        let facts = bystander.facts(None, address);
        assert!(facts.handshake_rtt.is_some() && facts.mss > 0);
        assert!(bystander.min_rtt() <= facts.handshake_rtt);
    }

    #[test]
    fn the_longest_sample_follows_from_the_smoothed_round_trip() {
        let smooth = |old: f64, sample: &f64| OLD_WEIGHT * old + NEW_WEIGHT * sample;
        let (old, least) = (0.0403, 0.0401);
        for (count, samples) in [
            (1, vec![0.06]),
            (2, vec![0.0402, 0.06]),
            (4, vec![0.0401, 0.2, 0.05, 0.0401]),
        ] {
            let new = samples.iter().fold(old, smooth);
            let most = samples.iter().copied().fold(0.0, f64::max);
            let longest = longest_sample(old, new, least, count);
            assert!(longest > most - 1e-9, "{samples:?}: {longest}");
            assert!(longest < 2.0 * most, "{samples:?}: {longest}");
        }
        assert!((longest_sample(old, smooth(old, &0.06), least, 1) - 0.06).abs() < 1e-9);
    }

    #[test]
    fn counters_are_read_from_any_bytes() {
        for length in [0, 1, 7, 104, 240, 4096] {
            let info = TcpInfo::parse(&vec![0xff; length]);
            assert!(!info.is_established());
            info.busy();
        }
        assert_eq!(TcpInfo::parse(&[1]).rtt(), None);
        assert!(TcpInfo::parse(&[1]).is_established());
    }
}
