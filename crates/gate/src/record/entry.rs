//! One exchange: a few instants and facts, filled as it proceeds and recorded at its end. Plain
//! values.

use std::time::{Duration, Instant};

use roundtrip_model::PhaseName;

use super::reason::ReasonKind;
use super::{Caller, LogDetails};
use super::{Early, Known, Outcome, Protocol, Reason};

/// No server was asked.
pub(crate) const NO_UPSTREAM: u16 = u16::MAX;

/// Its marks are taken one after the other; one that was not taken belongs to the next that was.
#[derive(Debug)]
pub(crate) struct Entry {
    /// The head was there, whole.
    pub(crate) began: Instant,
    /// Who asks may. Not needed where no store was asked.
    pub(crate) authorized: Option<Instant>,
    /// There is a connection to a server. Not needed where one was waiting.
    pub(crate) leased: Option<Instant>,
    /// The head is on its way, with what of the body was there.
    pub(crate) sent: Option<Instant>,
    /// The first of the answer came from the server.
    pub(crate) first_byte: Option<Instant>,
    /// That was passed on to the client.
    pub(crate) passed_on: Option<Instant>,
    /// The client has the whole answer.
    pub(crate) ended: Option<Instant>,
    pub(crate) protocol: Protocol,
    /// Is the client's connection encrypted; was it resumed?
    pub(crate) secure: bool,
    pub(crate) resumed: bool,
    /// `None`: it came after the handshake.
    pub(crate) early: Option<Early>,
    /// 0 while none was sent.
    pub(crate) status: u16,
    pub(crate) reason: Option<Reason>,
    pub(crate) outcome: Outcome,
    pub(crate) bytes_up: u64,
    pub(crate) bytes_down: u64,
    /// Which server, by the plan's numbers.
    pub(crate) upstream: u16,
    /// Is the connection to it encrypted; had it carried another request?
    pub(crate) upstream_secure: bool,
    pub(crate) reused: bool,
    pub(crate) retried: bool,
    /// `None` where no session is wanted.
    pub(crate) known: Option<Known>,
    /// Its name, and how its client reads errors.
    pub(crate) caller: Caller,
    /// For the access log, where there is one; nothing else looks at it.
    pub(crate) log_details: Option<Box<LogDetails>>,
}

/// Whose words: probe's, where it knows the phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Authorize,
    Lease,
    Request,
    FirstByte,
    Body,
}

impl Phase {
    pub(crate) const ALL: [Self; 5] = [
        Self::Authorize,
        Self::Lease,
        Self::Request,
        Self::FirstByte,
        Self::Body,
    ];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Authorize => "authorize",
            Self::Lease => "lease",
            Self::Request => PhaseName::Request.as_str(),
            Self::FirstByte => PhaseName::FirstByte.as_str(),
            Self::Body => PhaseName::Body.as_str(),
        }
    }
}

impl Entry {
    /// Nothing is known yet but who speaks.
    pub(crate) fn new(began: Instant, protocol: Protocol, secure: bool) -> Self {
        Self {
            began,
            authorized: None,
            leased: None,
            sent: None,
            first_byte: None,
            passed_on: None,
            ended: None,
            protocol,
            secure,
            resumed: false,
            early: None,
            status: 0,
            reason: None,
            outcome: Outcome::Whole,
            bytes_up: 0,
            bytes_down: 0,
            upstream: NO_UPSTREAM,
            upstream_secure: false,
            reused: false,
            retried: false,
            known: None,
            caller: Caller::default(),
            log_details: None,
        }
    }

    /// The store was asked who asks, and has answered.
    pub(crate) fn store_answered(&mut self) {
        self.authorized = Some(Instant::now());
        self.known = Some(Known::Asked);
    }

    /// Gate answers by itself.
    pub(crate) fn turn_away(&mut self, status: u16, reason: impl Into<Reason>) {
        self.status = status;
        self.reason = Some(reason.into());
    }

    /// From the request's leaving to the first of the answer; where that never came, to the end.
    pub(crate) fn waited(&self, ended: Instant) -> Duration {
        self.sent.map_or(Duration::ZERO, |sent| {
            self.first_byte
                .unwrap_or(ended)
                .saturating_duration_since(sent)
        })
    }

    /// What gate itself took: before the request left, and until the first of the answer was passed
    /// on. What follows is carried as it comes, and not waited for by anybody but its source.
    pub(crate) fn added(&self, ended: Instant) -> Duration {
        let Some(sent) = self.sent else {
            return ended.saturating_duration_since(self.began);
        };
        let before = sent.saturating_duration_since(self.began);
        let after = self.first_byte.zip(self.passed_on);
        let after = after.map(|(came, went)| went.saturating_duration_since(came));
        before + after.unwrap_or_default()
    }

    /// The phases that were gone through; together they are the whole, as long as the marks are in
    /// order.
    pub(crate) fn phases(&self, ended: Instant) -> impl Iterator<Item = (Phase, Duration)> {
        let marks = [self.authorized, self.leased, self.sent, self.first_byte];
        let last = self.last_phase();
        let mut from = self.began;
        Phase::ALL
            .into_iter()
            .enumerate()
            .filter_map(move |(at, phase)| {
                let mark = marks.get(at).copied().flatten();
                let end = if phase == last { ended } else { mark? };
                let took = end.saturating_duration_since(from);
                from = from.max(end);
                Some((phase, took))
            })
    }

    /// What was under way at the end: the phase after the last mark; where somebody was turned
    /// away, judging them.
    fn last_phase(&self) -> Phase {
        let turned_away = self.reason.is_some_and(|r| r.kind() != ReasonKind::Backend);
        match (self.first_byte, self.sent, self.leased, self.authorized) {
            (Some(_), ..) => Phase::Body,
            (_, Some(_), ..) => Phase::FirstByte,
            (_, _, Some(_), _) => Phase::Request,
            (_, _, _, Some(_)) if !turned_away => Phase::Lease,
            _ => Phase::Authorize,
        }
    }
}

#[cfg(test)]
mod tests;
