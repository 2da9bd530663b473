//! Reads part of a request's body before it asks for a connection. Connections to backends are few,
//! and clients may send bodies slowly: a client that sends nothing holds no connection.

use tokio::time::Instant;

use super::rate::{RATE_WINDOW, window};
use super::{ExchangeError, Source};
use crate::config::Limits;
use crate::forward::deadlines::{Deadline, Elapsed};
use crate::judge::request::BadRequestError;
use crate::record::Limit;

/// The first part of a body.
#[derive(Default)]
pub(super) struct ReadAhead {
    pub(super) bytes: Vec<u8>,
    /// When the present window of the rate began, and the bytes that had arrived by then.
    window: Option<(Instant, usize)>,
}

/// How reading ahead ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadAheadOutcome {
    /// The whole body was read.
    Whole,
    /// The limit was reached: no more may be read ahead.
    Enough,
    /// The time ran out; part of the body was read.
    Some,
}

impl ReadAhead {
    /// Continues reading. Bytes that arrived too late are kept too. The minimum rate applies to a
    /// body from its beginning. `buffer` counts the memory; if there is no room, reading ends.
    pub(super) async fn read(
        &mut self,
        body: &mut impl Source,
        limits: &Limits,
        deadline: &Deadline,
        buffer: impl Fn(usize) -> Result<(), Limit>,
    ) -> Result<ReadAheadOutcome, ExchangeError> {
        let reading = self.read_on(body, limits, buffer);
        match deadline
            .within(Some(limits.body_ahead_time.0), reading)
            .await
        {
            Ok(came) => came,
            Err(Elapsed) => self.judge(limits).map(|()| ReadAheadOutcome::Some),
        }
    }

    async fn read_on(
        &mut self,
        body: &mut impl Source,
        limits: &Limits,
        buffer: impl Fn(usize) -> Result<(), Limit>,
    ) -> Result<ReadAheadOutcome, ExchangeError> {
        let enough = usize::try_from(limits.body_ahead.0).unwrap_or(usize::MAX);
        while self.bytes.len() < enough {
            if !body.next(&mut self.bytes).await? {
                return Ok(ReadAheadOutcome::Whole);
            }
            if self.bytes.len() as u64 > limits.body.0 {
                return Err(BadRequestError::BodyTooLarge.into());
            }
            if buffer(self.bytes.len()).is_err() {
                break;
            }
        }
        Ok(ReadAheadOutcome::Enough)
    }

    fn judge(&mut self, limits: &Limits) -> Result<(), ExchangeError> {
        let now = (Instant::now(), self.bytes.len());
        let (since, before) = *self.window.get_or_insert(now);
        if now.0 - since < RATE_WINDOW {
            return Ok(());
        }
        let came = (now.1 - before) as u64;
        if came < window(limits.body_rate.0) {
            return Err(ExchangeError::Slow(Limit::BodyRate));
        }
        self.window = Some(now);
        Ok(())
    }
}
