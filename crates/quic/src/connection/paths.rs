//! Where the peer is, how much may be sent there, and whether it has proved to be there. RFC 9000 §8.

use std::net::{IpAddr, SocketAddr};

use crate::{Time, Way};

/// How many challenges without an answer are remembered: any of them validates. RFC 9000 §8.2.
const CHALLENGES: usize = 4;
/// How many answers may wait to be sent.
const OWED: usize = 4;
/// An address that is not validated gets at most three times what came from it. RFC 9000 §8.1.
const AMPLIFICATION: u64 = 3;

#[derive(Debug, Clone)]
pub(crate) struct Path {
    pub(crate) remote: SocketAddr,
    pub(crate) local: Option<IpAddr>,
    pub(crate) validated: bool,
    received: u64,
    sent: u64,
    challenge: Option<Challenge>,
}

#[derive(Debug, Clone)]
struct Challenge {
    sent: Vec<[u8; 8]>,
    is_pending: bool,
    deadline: Time,
}

impl Path {
    pub(crate) fn new(remote: SocketAddr, local: Option<IpAddr>, validated: bool) -> Self {
        Self {
            remote,
            local,
            validated,
            received: 0,
            sent: 0,
            challenge: None,
        }
    }

    pub(crate) fn on_received(&mut self, bytes: usize) {
        self.received = self.received.saturating_add(bytes as u64);
    }

    pub(crate) fn on_sent(&mut self, bytes: usize) {
        self.sent = self.sent.saturating_add(bytes as u64);
    }

    /// How many bytes may still be sent.
    pub(crate) fn credit(&self) -> usize {
        if self.validated {
            return usize::MAX;
        }
        let most = self.received.saturating_mul(AMPLIFICATION);
        usize::try_from(most.saturating_sub(self.sent)).unwrap_or(usize::MAX)
    }

    /// Asks whether the peer is there; what for is given up at `deadline`.
    pub(crate) fn challenge(&mut self, deadline: Time) {
        self.challenge = Some(Challenge {
            sent: Vec::new(),
            is_pending: true,
            deadline,
        });
    }

    pub(crate) fn wants_challenge(&self) -> bool {
        self.challenge.as_ref().is_some_and(|c| c.is_pending)
    }

    pub(crate) fn on_challenge_sent(&mut self, data: [u8; 8]) {
        if let Some(challenge) = &mut self.challenge {
            challenge.is_pending = false;
            if challenge.sent.len() >= CHALLENGES {
                challenge.sent.remove(0);
            }
            challenge.sent.push(data);
        }
    }

    pub(crate) fn on_challenge_lost(&mut self, data: [u8; 8]) {
        if let Some(challenge) = &mut self.challenge
            && challenge.sent.last() == Some(&data)
        {
            challenge.is_pending = true;
        }
    }

    /// PATH_RESPONSE: whether it answers a challenge of this path.
    pub(crate) fn on_response(&mut self, data: [u8; 8]) -> bool {
        let answers = self
            .challenge
            .as_ref()
            .is_some_and(|challenge| challenge.sent.contains(&data));
        if answers {
            self.challenge = None;
            self.validated = true;
        }
        answers
    }

    pub(crate) fn deadline(&self) -> Option<Time> {
        self.challenge.as_ref().map(|challenge| challenge.deadline)
    }

    pub(crate) fn has_failed(&self, now: Time) -> bool {
        self.deadline().is_some_and(|deadline| deadline <= now)
    }

    pub(crate) fn give_up_challenge(&mut self) {
        self.challenge = None;
    }
}

/// A PATH_RESPONSE that is owed, to be sent where the challenge came from. RFC 9000 §8.2.2.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Owed {
    pub(crate) remote: SocketAddr,
    pub(crate) local: Option<IpAddr>,
    pub(crate) data: [u8; 8],
    /// How large the answer may be where nothing else is known of that address.
    pub(crate) credit: usize,
}

#[derive(Debug)]
pub(crate) struct Paths {
    pub(crate) active: Path,
    /// The one before, as long as the active one is not validated. RFC 9000 §9.3.2.
    pub(crate) previous: Option<Path>,
    owed: Vec<Owed>,
}

impl Paths {
    pub(crate) fn new(active: Path) -> Self {
        Self {
            active,
            previous: None,
            owed: Vec::new(),
        }
    }

    /// PATH_CHALLENGE came in a datagram of `size`.
    pub(crate) fn owe(&mut self, way: &Way, data: [u8; 8], size: usize) {
        if self.owed.len() < OWED {
            self.owed.push(Owed {
                remote: way.remote,
                local: way.local,
                data,
                credit: size.saturating_mul(AMPLIFICATION as usize),
            });
        }
    }

    pub(crate) fn take_owed(&mut self) -> Option<Owed> {
        (!self.owed.is_empty()).then(|| self.owed.remove(0))
    }

    #[inline]
    pub(crate) fn has_work(&self) -> bool {
        !self.owed.is_empty()
            || self.active.wants_challenge()
            || self.previous.as_ref().is_some_and(Path::wants_challenge)
    }

    pub(crate) fn on_challenge_lost(&mut self, data: [u8; 8]) {
        self.active.on_challenge_lost(data);
        if let Some(previous) = &mut self.previous {
            previous.on_challenge_lost(data);
        }
    }

    pub(crate) fn deadline(&self) -> Option<Time> {
        let previous = self.previous.as_ref().and_then(Path::deadline);
        self.active.deadline().into_iter().chain(previous).min()
    }
}
