//! How an exchange ended, if it failed.

use roundtrip_model::{Failure, FailureKind, PhaseName};

use super::ExchangeBuilder;
use crate::application::TracedRequest;
use crate::records::RecordFollower;
use crate::segment::Side;
use crate::tcp::Content;

impl ExchangeBuilder<'_> {
    /// Why no request was made, and since when that was clear; `None` if nothing failed.
    pub(super) fn failure_before_request(&self) -> Option<(u64, Failure)> {
        let view = self.view;
        let server = self.flow.server;
        let last = view.ended;
        let Some(connected) = view.connected else {
            let _ = view.syn?;
            // Windows asks again after a refusal.
            return Some(match view.refusals.last() {
                Some((_, at)) => (
                    *at,
                    failure(
                        FailureKind::Refused,
                        PhaseName::Tcp,
                        match view.refusals.len() {
                            1 => format!("{server} refused the connection"),
                            times => format!("{server} refused the connection {times} times"),
                        },
                        "see whether the service listens on that port",
                    ),
                ),
                _ => (
                    last,
                    failure(
                        FailureKind::ConnectTimeout,
                        PhaseName::Tcp,
                        format!("{server} did not answer {} SYN(s)", view.syn_repeats + 1),
                        "look for a filter on the way, with a capture at the server's end",
                    ),
                ),
            });
        };
        if let Some(seen) = self.tls.filter(|seen| seen.finished.is_none()) {
            if let Some(at) = seen.alert {
                let message = "the server ended the handshake with an alert".to_owned();
                let advice =
                    "look for the reason in the server's log, or run `roundtrip probe` on the URL";
                return Some((
                    at,
                    failure(FailureKind::TlsAlert, PhaseName::Tls, message, advice),
                ));
            }
            // The bytes missing from the capture may have been the rest of the handshake.
            let is_whole =
                |followers: &[RecordFollower; 2]| followers.iter().all(RecordFollower::is_whole);
            return match &self.flow.content {
                Content::Tls(followers) if !is_whole(followers) => None,
                _ => Some(self.broken_off(PhaseName::Tls, last)),
            };
        }
        let asked_in_vain = !view.sent.is_empty() && !matches!(self.flow.content, Content::Tls(_));
        let reset = view
            .reset
            .is_some_and(|(at, side)| side == Side::Server && at > connected);
        (asked_in_vain || (reset && self.tls.is_some()))
            .then(|| self.broken_off(PhaseName::FirstByte, last))
    }

    /// Why a request was not answered, or not completely.
    pub(super) fn failure_of(&self, asked: &TracedRequest) -> Option<(u64, Failure)> {
        if let Some((at, side)) = asked.reset {
            return Some((at, stream_reset(asked, side)));
        }
        if asked.is_whole && asked.finished.is_some() {
            return None;
        }
        let last = self.view.ended;
        Some(self.broken_off(phase_of(asked), last))
    }

    fn broken_off(&self, phase: PhaseName, last: u64) -> (u64, Failure) {
        let view = self.view;
        match (view.reset, view.fin) {
            (Some((at, Side::Server)), _) => (
                at,
                failure(
                    FailureKind::Reset,
                    phase,
                    "the server reset the connection".into(),
                    "look at the server, or at a middlebox in front of it",
                ),
            ),
            (Some((at, Side::Client)), _) => (
                at,
                failure(
                    FailureKind::Interrupted,
                    phase,
                    "the client gave up and reset the connection".into(),
                    "look at the client's timeouts",
                ),
            ),
            (None, Some(at)) if phase == PhaseName::Body => (
                at,
                failure(
                    FailureKind::BodyCutShort,
                    phase,
                    "the server closed the connection before the answer's end".into(),
                    "look at the server's log",
                ),
            ),
            (None, Some(at)) => (
                at,
                failure(
                    FailureKind::Closed,
                    phase,
                    "the server closed the connection without an answer".into(),
                    "look at the server's log",
                ),
            ),
            (None, None) => (
                last,
                failure(
                    FailureKind::Timeout,
                    phase,
                    "the capture ends before the answer does".into(),
                    "capture for longer",
                ),
            ),
        }
    }
}

/// A side ended the stream of a request, and the connection lived on.
pub(crate) fn stream_reset(asked: &TracedRequest, side: Side) -> Failure {
    let phase = phase_of(asked);
    match side {
        Side::Client => failure(
            FailureKind::Interrupted,
            phase,
            "the client cancelled the request".into(),
            "look at the client's timeouts, or whether its user had left",
        ),
        Side::Server => failure(
            FailureKind::Reset,
            phase,
            "the server reset the stream".into(),
            "look at the server's log",
        ),
    }
}

fn phase_of(asked: &TracedRequest) -> PhaseName {
    if asked.first_byte.is_some() {
        PhaseName::Body
    } else {
        PhaseName::FirstByte
    }
}

fn failure(kind: FailureKind, phase: PhaseName, message: String, advice: &str) -> Failure {
    Failure {
        kind,
        phase,
        message,
        advice: advice.to_owned(),
    }
}
