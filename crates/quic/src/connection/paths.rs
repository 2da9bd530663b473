//! Where the peer is, how much may be sent there, and whether it has validated its address. RFC
//! 9000 §8.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use super::MIN_DATAGRAM;
use super::amplification::Amplification;
use super::random::Random;
use crate::{RecvMeta, Time};

/// How many unanswered challenges are remembered: any of them validates. RFC 9000 §8.2.
const CHALLENGES: usize = 4;
/// The largest number of answers that wait to be sent.
const OWED: usize = 4;
/// A datagram with a PATH_CHALLENGE or a PATH_RESPONSE has room for its frame: a header, the frame,
/// and a tag. Three times the shortest packet is more.
const MIN_ALONE: usize = 1 + 20 + 4 + 9 + 16;

#[derive(Debug, Clone)]
pub(super) struct Path {
    remote: SocketAddr,
    local: Option<IpAddr>,
    validated: bool,
    challenge: Option<Challenge>,
}

#[derive(Debug, Clone)]
struct Challenge {
    sent: Vec<Sent>,
    is_pending: bool,
    /// The address is validated; this second challenge must show that the path carries full
    /// datagrams.
    is_second: bool,
    deadline: Time,
}

#[derive(Debug, Clone, Copy)]
struct Sent {
    data: [u8; 8],
    /// Whether the datagram had 1200 bytes.
    is_full: bool,
}

impl Path {
    pub(super) fn new(remote: SocketAddr, local: Option<IpAddr>, validated: bool) -> Self {
        Self {
            remote,
            local,
            validated,
            challenge: None,
        }
    }

    fn target(&self, size: usize) -> Target {
        Target {
            remote: self.remote,
            local: self.local,
            size,
        }
    }

    /// Sends a challenge to find out whether the peer is at this address. It is abandoned at
    /// `deadline`.
    fn challenge(&mut self, deadline: Time) {
        self.challenge = Some(Challenge {
            sent: Vec::new(),
            is_pending: true,
            is_second: false,
            deadline,
        });
    }

    fn wants_challenge(&self) -> bool {
        self.challenge.as_ref().is_some_and(|c| c.is_pending)
    }

    fn on_challenge_sent(&mut self, data: [u8; 8], is_full: bool) {
        if let Some(challenge) = &mut self.challenge {
            challenge.is_pending = false;
            if challenge.sent.len() >= CHALLENGES {
                challenge.sent.remove(0);
            }
            challenge.sent.push(Sent { data, is_full });
        }
    }

    fn on_challenge_lost(&mut self, data: [u8; 8]) {
        if let Some(challenge) = &mut self.challenge
            && challenge.sent.last().is_some_and(|sent| sent.data == data)
        {
            challenge.is_pending = true;
        }
    }

    /// Handles PATH_RESPONSE: returns whether it answers a challenge of this path, and so validates
    /// the address. If the challenge was too small to prove that the path carries full datagrams,
    /// another one follows, with the deadline `again`. RFC 9000 §8.2.1.
    fn on_response(&mut self, data: [u8; 8], again: Time) -> bool {
        let challenge = self.challenge.as_ref();
        let Some((sent, is_second)) = challenge.and_then(|challenge| {
            let mut all = challenge.sent.iter();
            let sent = all.find(|sent| sent.data == data)?;
            Some((*sent, challenge.is_second))
        }) else {
            return false;
        };
        self.validated = true;
        self.challenge = None;
        if !sent.is_full {
            self.challenge(again);
            if let Some(challenge) = &mut self.challenge {
                challenge.is_second = true;
            }
        }
        !is_second
    }

    fn deadline(&self) -> Option<Time> {
        self.challenge.as_ref().map(|challenge| challenge.deadline)
    }

    fn has_failed(&self, now: Time) -> bool {
        self.deadline().is_some_and(|deadline| deadline <= now)
    }

    fn give_up_challenge(&mut self) {
        self.challenge = None;
    }
}

/// A PATH_RESPONSE to be sent to the address that the challenge came from. RFC 9000 §8.2.2.
#[derive(Debug, Clone, Copy)]
struct Owed {
    remote: SocketAddr,
    local: Option<IpAddr>,
    data: [u8; 8],
    /// The number of the datagram that brought the challenge.
    datagram: u64,
}

/// Where to send a datagram that is not part of a burst.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target {
    pub(super) remote: SocketAddr,
    pub(super) local: Option<IpAddr>,
    /// The size that the datagram is padded to.
    pub(super) size: usize,
}

/// How the peer has moved.
#[derive(Debug, Clone, Copy)]
pub(super) struct Move {
    /// Whether the peer is back on the previous path, which is validated.
    pub(super) is_return: bool,
    /// The host that the peer has left; `None` if only its port has changed.
    pub(super) left: Option<IpAddr>,
}

/// The paths of one connection.
///
/// The loop of receiving reports each datagram to [`Self::on_received`] while an address is not
/// validated, and a newest packet from elsewhere to [`Self::on_moved`]; frames of a path are passed
/// to [`Self::on_challenge`] and [`Self::on_response`]. A sender asks [`Self::credit`] first, polls
/// responses before challenges, and then calls [`Self::on_sent`]. A [`Move`] that is returned has
/// happened: the caller informs recovery, and takes another id.
#[derive(Debug)]
pub(super) struct Paths {
    active: Path,
    /// The previous path, until the active one is validated. RFC 9000 §9.3.2.
    previous: Option<Path>,
    owed: Vec<Owed>,
    amplification: Amplification,
    /// The peer is not followed to another address before this time.
    settled: Time,
    /// The round trip that is assumed of an unknown path.
    initial_rtt: Duration,
    /// Makes the data of the challenges.
    random: Random,
}

impl Paths {
    pub(super) fn new(active: Path, initial_rtt: Duration, random: Random) -> Self {
        Self {
            active,
            previous: None,
            owed: Vec::new(),
            amplification: Amplification::default(),
            settled: Time::ZERO,
            initial_rtt,
            random,
        }
    }

    #[inline]
    pub(super) fn remote(&self) -> SocketAddr {
        self.active.remote
    }

    #[inline]
    pub(super) fn local(&self) -> Option<IpAddr> {
        self.active.local
    }

    #[inline]
    pub(super) fn is_validated(&self) -> bool {
        self.active.validated
    }

    /// How many bytes may still be sent to the peer.
    #[inline]
    pub(super) fn credit(&self) -> usize {
        if self.active.validated {
            return usize::MAX;
        }
        self.amplification.credit(self.active.remote)
    }

    /// How many bytes may still be sent to an address.
    fn credit_at(&self, remote: SocketAddr) -> usize {
        if self.has_proved(remote) {
            return usize::MAX;
        }
        self.amplification.credit(remote)
    }

    pub(super) fn has_proved(&self, remote: SocketAddr) -> bool {
        let mut paths = std::iter::once(&self.active).chain(&self.previous);
        paths.any(|path| path.validated && path.remote == remote)
    }

    /// The active path as the target of a datagram of `size` bytes.
    pub(super) fn target(&self, size: usize) -> Target {
        self.active.target(size)
    }

    /// Whether `way` is the active path.
    #[inline]
    pub(super) fn is_active(&self, way: &RecvMeta) -> bool {
        way.remote == self.active.remote
    }

    /// Whether `way` leads to an address that this side has left.
    pub(super) fn has_left(&self, way: &RecvMeta) -> bool {
        matches!((way.local, self.active.local), (Some(came), Some(own)) if came != own)
    }

    /// Handles a datagram from the peer at `remote`.
    pub(super) fn on_received(&mut self, remote: SocketAddr, bytes: usize) {
        if !self.has_proved(remote) {
            self.amplification.on_received(remote, bytes);
        }
    }

    /// Bytes were sent on the active path.
    #[inline]
    pub(super) fn on_sent(&mut self, bytes: usize) {
        if !self.active.validated {
            self.amplification.on_sent(self.active.remote, bytes);
        }
    }

    /// Bytes were sent to an address.
    pub(super) fn on_sent_to(&mut self, remote: SocketAddr, bytes: usize) {
        if !self.has_proved(remote) {
            self.amplification.on_sent(remote, bytes);
        }
    }

    /// Notes that the peer has proved its address in another way.
    pub(super) fn validate(&mut self) {
        self.active.validated = true;
        self.amplification.forget(self.active.remote);
    }

    /// PATH_CHALLENGE came in datagram number `datagram` of the connection. A datagram is answered
    /// once, whatever it asks: an answer may be many times as large as a challenge.
    pub(super) fn on_challenge(&mut self, way: &RecvMeta, data: [u8; 8], datagram: u64) {
        let owed = Owed {
            remote: way.remote,
            local: way.local,
            data,
            datagram,
        };
        self.owed.retain(|owed| owed.datagram != datagram);
        if self.owed.len() < OWED {
            self.owed.push(owed);
        }
    }

    /// The next PATH_RESPONSE to send, and its target: the path that the challenge came on. RFC
    /// 9000 §8.2.2.
    pub(super) fn poll_response(&mut self) -> Option<(Target, [u8; 8])> {
        while !self.owed.is_empty() {
            let owed = self.owed.remove(0);
            let credit = self.credit_at(owed.remote);
            if credit >= MIN_ALONE {
                let target = Target {
                    remote: owed.remote,
                    local: owed.local,
                    size: MIN_DATAGRAM.min(credit),
                };
                return Some((target, owed.data));
            }
        }
        None
    }

    /// The next PATH_CHALLENGE to send, and its target. RFC 9000 §8.2.1.
    pub(super) fn poll_challenge(&mut self) -> Option<(Target, [u8; 8])> {
        let data = self.random.bytes();
        let credit = self.credit();
        let (path, credit) = if self.active.wants_challenge() && credit >= MIN_ALONE {
            (&mut self.active, credit)
        } else {
            // A path that is left is kept only if it is validated.
            (self.previous.as_mut()?, usize::MAX)
        };
        let target = path.target(MIN_DATAGRAM.min(credit));
        if target.size < MIN_ALONE || !path.wants_challenge() {
            return None;
        }
        path.on_challenge_sent(data, target.size >= MIN_DATAGRAM);
        Some((target, data))
    }

    #[inline]
    pub(super) fn has_work(&self) -> bool {
        !self.owed.is_empty()
            || self.active.wants_challenge()
            || self.previous.as_ref().is_some_and(Path::wants_challenge)
    }

    pub(super) fn on_challenge_lost(&mut self, data: [u8; 8]) {
        self.active.on_challenge_lost(data);
        if let Some(previous) = &mut self.previous {
            previous.on_challenge_lost(data);
        }
    }

    /// How long to wait for an answer on an unknown path. RFC 9000 §8.2.4, RFC 9002 §6.2.2.
    fn validation_timeout(&self, pto: Duration) -> Duration {
        3 * pto.max(3 * self.initial_rtt)
    }

    /// Makes this client continue from another address, where the server is to answer.
    pub(super) fn migrate(&mut self, now: Time, local: Option<IpAddr>, pto: Duration) {
        let deadline = now.after(self.validation_timeout(pto));
        // The server's address is known to be valid, so what is sent there is not limited.
        let mut path = Path::new(self.active.remote, local, true);
        path.challenge(deadline);
        self.active = path;
    }

    /// Whether to follow a peer that sends from there. It may return to the previous path at any
    /// time, and move to another port of a validated host, as behind a NAT: until it is followed,
    /// the data that it waits for is lost. Any other move has to wait until the last one is
    /// validated or abandoned, and there is at most one move per probe timeout, because each move
    /// visits everything in flight and may reset the window.
    fn may_move(&self, now: Time, way: &RecvMeta) -> bool {
        let known = [Some(&self.active), self.previous.as_ref()];
        let mut known = known.into_iter().flatten().filter(|p| p.validated);
        let only_port = known.any(|path| path.remote.ip() == way.remote.ip());
        let is_settled = self.active.challenge.is_none() && self.settled <= now;
        only_port || self.is_return(way) || is_settled
    }

    fn is_return(&self, way: &RecvMeta) -> bool {
        self.previous
            .as_ref()
            .is_some_and(|previous| previous.remote == way.remote && previous.validated)
    }

    /// The newest packet came from elsewhere: the peer has moved, and has to prove it. Returns
    /// `None` if it is not followed now. RFC 9000 §9.3.
    pub(super) fn on_moved(&mut self, now: Time, way: &RecvMeta, pto: Duration) -> Option<Move> {
        if !self.may_move(now, way) {
            return None;
        }
        let is_return = self.is_return(way);
        let host = self.active.remote.ip();
        let deadline = now.after(self.validation_timeout(pto));
        let mut path = Path::new(way.remote, way.local, is_return);
        if !is_return {
            path.challenge(deadline);
            self.settled = now.after(pto);
        }
        let mut left = std::mem::replace(&mut self.active, path);
        if left.validated {
            // If the peer never left, it answers there. RFC 9000 §9.3.3.
            left.challenge(deadline);
            self.previous = Some(left);
        }
        if is_return {
            self.previous = None;
        }
        Some(Move {
            is_return,
            left: (way.remote.ip() != host).then_some(host),
        })
    }

    /// PATH_RESPONSE: returns whether it validates the active path. A second challenge may follow.
    pub(super) fn on_response(&mut self, now: Time, data: [u8; 8], pto: Duration) -> bool {
        let again = now.after(self.validation_timeout(pto));
        if self.active.on_response(data, again) {
            self.amplification.forget(self.active.remote);
            self.previous = None;
            return true;
        }
        if let Some(previous) = &mut self.previous {
            // A peer that is still there shows it with its next packet; it is not followed back
            // before.
            previous.on_response(data, again);
        }
        false
    }

    /// Gives up unanswered challenges. Returns the move back to the previous path if the active one
    /// has failed. RFC 9000 §8.2.4 and §9.3.2.
    pub(super) fn on_timeout(&mut self, now: Time) -> Option<Move> {
        let mut moved = None;
        if self.active.has_failed(now) {
            self.active.give_up_challenge();
            if let Some(previous) = self.previous.take() {
                let host = self.active.remote.ip();
                moved = Some(Move {
                    is_return: true,
                    left: (previous.remote.ip() != host).then_some(host),
                });
                self.active = previous;
                self.active.give_up_challenge();
            }
        }
        if let Some(previous) = &mut self.previous
            && previous.has_failed(now)
        {
            previous.give_up_challenge();
        }
        moved
    }

    pub(super) fn deadline(&self) -> Option<Time> {
        let previous = self.previous.as_ref().and_then(Path::deadline);
        self.active.deadline().into_iter().chain(previous).min()
    }
}
