//! One exchange: a few instants and facts, filled as it proceeds and recorded at its end. Plain
//! values.

use std::rc::Rc;
use std::time::{Duration, Instant};

use roundtrip_model::PhaseName;

use super::reason::ReasonKind;
use super::{Caller, LogDetails};
use super::{Early, Known, Outcome, Protocol, Reason, TracePosition, Tracer};

/// No server was used.
pub(crate) const NO_UPSTREAM: u16 = u16::MAX;

/// The marks follow one another; the time of a mark that was not set belongs to the next one.
#[derive(Debug)]
pub(crate) struct Entry {
    /// The head was complete.
    pub(crate) began: Instant,
    /// The request was authorized. Not set if the store was not asked.
    pub(crate) authorized: Option<Instant>,
    /// A connection to a server was leased. Not set if one was free.
    pub(crate) leased: Option<Instant>,
    /// The head was sent, with the part of the body that had arrived.
    pub(crate) sent: Option<Instant>,
    /// When the first byte of the server's answer arrived.
    pub(crate) first_byte: Option<Instant>,
    /// The first byte was passed on to the client.
    pub(crate) passed_on: Option<Instant>,
    /// The client has the whole answer.
    pub(crate) ended: Option<Instant>,
    pub(crate) protocol: Protocol,
    /// Whether the client's connection is encrypted, and whether it was resumed.
    pub(crate) secure: bool,
    pub(crate) resumed: bool,
    /// `None` if the request arrived after the handshake.
    pub(crate) early: Option<Early>,
    /// 0 until a status was sent.
    pub(crate) status: u16,
    pub(crate) reason: Option<Reason>,
    pub(crate) outcome: Outcome,
    pub(crate) bytes_up: u64,
    pub(crate) bytes_down: u64,
    /// The server, by its number in the plan.
    pub(crate) upstream: u16,
    /// Whether the connection to the server is encrypted, and whether it was used before.
    pub(crate) upstream_secure: bool,
    pub(crate) reused: bool,
    pub(crate) retried: bool,
    /// `None` if no session is needed.
    pub(crate) known: Option<Known>,
    /// The request's ID, and the format in which its client reads errors.
    pub(crate) caller: Caller,
    /// Details for the access log, if there is one, and for spans.
    pub(crate) log_details: Option<Box<LogDetails>>,
    /// The tracer, if spans are sent.
    pub(crate) tracer: Option<Rc<Tracer>>,
    /// The request's place in a trace, once its head was read.
    pub(crate) trace: Option<TracePosition>,
}

/// The names are those of `probe`, for the phases that it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExchangePhase {
    Authorize,
    Lease,
    Request,
    FirstByte,
    Body,
}

impl ExchangePhase {
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
    /// Makes an entry; only the protocol is known so far.
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
            tracer: None,
            trace: None,
        }
    }

    /// The store was asked for the session, and has answered.
    pub(crate) fn store_answered(&mut self) {
        self.authorized = Some(Instant::now());
        self.known = Some(Known::Asked);
    }

    /// Notes that gate gives its own answer.
    pub(crate) fn turn_away(&mut self, status: u16, reason: impl Into<Reason>) {
        self.status = status;
        self.reason = Some(reason.into());
    }

    /// The time from sending the request to the first byte of the answer, or to the end if there
    /// was no answer.
    pub(crate) fn waited(&self, ended: Instant) -> Duration {
        self.sent.map_or(Duration::ZERO, |sent| {
            self.first_byte
                .unwrap_or(ended)
                .saturating_duration_since(sent)
        })
    }

    /// The time that gate added: before the request was sent, and until the first byte of the
    /// answer was passed on. The rest is passed on as it comes.
    pub(crate) fn added(&self, ended: Instant) -> Duration {
        let Some(sent) = self.sent else {
            return ended.saturating_duration_since(self.began);
        };
        let before = sent.saturating_duration_since(self.began);
        let after = self.first_byte.zip(self.passed_on);
        let after = after.map(|(came, went)| went.saturating_duration_since(came));
        before + after.unwrap_or_default()
    }

    /// The phases of the exchange; if the marks are in order, their sum is the whole.
    pub(crate) fn phases(&self, ended: Instant) -> impl Iterator<Item = (ExchangePhase, Duration)> {
        let marks = [self.authorized, self.leased, self.sent, self.first_byte];
        let last = self.last_phase();
        let mut from = self.began;
        ExchangePhase::ALL
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

    /// The phase at the end: the one after the last mark, or judging if the request was refused.
    fn last_phase(&self) -> ExchangePhase {
        let turned_away = self.reason.is_some_and(|r| r.kind() != ReasonKind::Backend);
        match (self.first_byte, self.sent, self.leased, self.authorized) {
            (Some(_), ..) => ExchangePhase::Body,
            (_, Some(_), ..) => ExchangePhase::FirstByte,
            (_, _, Some(_), _) => ExchangePhase::Request,
            (_, _, _, Some(_)) if !turned_away => ExchangePhase::Lease,
            _ => ExchangePhase::Authorize,
        }
    }
}

#[cfg(test)]
mod tests;
