//! Why a collector did not take a request, and whether it may be sent again: as the OTLP
//! specification says, "Failures" and "Retryable response codes".

use std::time::Duration;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use roundtrip_fetch::memory::Stamp;
use roundtrip_fetch::pool::{PoolError, Reply};
use roundtrip_fetch::rate_limiter::retry_after;
use roundtrip_wire::otlp;

/// The largest number of requests for one batch.
const MAX_TRIES: u32 = 5;
/// The first pause; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExportError {
    pub(crate) why: String,
    pub(crate) again: Again,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Again {
    Never,
    /// There was no answer.
    Unreached,
    /// The collector is busy, and may have said for how long.
    Busy(Option<Duration>),
}

/// gRPC's codes that may pass: 1 cancelled, 4 deadline exceeded, 10 aborted, 11 out of range, 14
/// unavailable, 15 data loss.
const MAY_PASS: [&[u8]; 6] = [b"1", b"4", b"10", b"11", b"14", b"15"];
/// gRPC's code 8, resource exhausted: such a refusal may pass only if the collector says when.
const EXHAUSTED: &[u8] = b"8";

impl ExportError {
    pub(crate) fn late(limit: Duration) -> Self {
        Self {
            why: format!("no answer within {:.1} s", limit.as_secs_f64()),
            again: Again::Unreached,
        }
    }

    /// The error in an answer; `None` if the collector accepted the batch.
    pub(crate) fn from_reply(reply: &Reply, is_grpc: bool, now: Stamp) -> Option<Self> {
        let asked = reply.header("retry-after");
        let asked = asked.and_then(|field| retry_after(field, now));
        if !(200..300).contains(&reply.status) {
            let busy = matches!(reply.status, 429 | 502 | 503 | 504);
            return Some(Self {
                why: format!("the collector answered {}", reply.status),
                again: if busy {
                    Again::Busy(asked)
                } else {
                    Again::Never
                },
            });
        }
        // A refusal has its status in the head, because it has no message.
        let status = reply.header("grpc-status").filter(|_| is_grpc)?;
        if status == b"0" {
            return None;
        }
        let details = reply.header("grpc-status-details-bin").unwrap_or_default();
        let padding = DecodePaddingMode::Indifferent;
        let config = GeneralPurposeConfig::new().with_decode_padding_mode(padding);
        let details = GeneralPurpose::new(&STANDARD, config).decode(details);
        let asked = otlp::retry_delay(&details.unwrap_or_default());
        let told = reply.header("grpc-message").unwrap_or_default();
        Some(Self {
            why: format!(
                "the collector answered with the gRPC status {}: {}",
                String::from_utf8_lossy(status),
                String::from_utf8_lossy(told)
            ),
            again: if MAY_PASS.contains(&status) || (status == EXHAUSTED && asked.is_some()) {
                Again::Busy(asked)
            } else {
                Again::Never
            },
        })
    }
}

impl From<PoolError> for ExportError {
    fn from(error: PoolError) -> Self {
        let passes = error.kind().may_pass();
        Self {
            why: error.to_string(),
            again: if passes {
                Again::Unreached
            } else {
                Again::Never
            },
        }
    }
}

/// How long to wait before the next request, or `None` to give up. `tries` were made, `left` is the
/// time that remains, and `random` is from 0 to 1. The pause that a collector asks for is kept.
pub(crate) fn pause(again: Again, tries: u32, left: Duration, random: f64) -> Option<Duration> {
    let asked = match again {
        Again::Never => return None,
        Again::Unreached => None,
        Again::Busy(asked) => asked,
    };
    let doubled = FIRST_PAUSE * 2_u32.saturating_pow(tries.saturating_sub(1));
    let pause = asked.unwrap_or_else(|| doubled.mul_f64(0.5 + random.clamp(0.0, 1.0) / 2.0));
    (tries < MAX_TRIES && pause < left).then_some(pause)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(status: u16, headers: &[(&str, &str)]) -> Reply {
        let headers = headers.iter();
        Reply {
            status,
            headers: headers
                .map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec()))
                .collect(),
            body: bytes::Bytes::new(),
            timing: roundtrip_fetch::pool::Timing::default(),
        }
    }

    fn again(status: u16, headers: &[(&str, &str)], is_grpc: bool) -> Option<Again> {
        ExportError::from_reply(&reply(status, headers), is_grpc, Stamp::from_secs(1))
            .map(|r| r.again)
    }

    #[test]
    fn only_the_codes_of_the_specification_are_repeated() {
        assert_eq!(again(200, &[], false), None);
        for status in [429, 502, 503, 504] {
            assert_eq!(again(status, &[], false), Some(Again::Busy(None)));
        }
        for status in [301, 400, 401, 404, 413, 500, 501, 505] {
            assert_eq!(again(status, &[], false), Some(Again::Never), "{status}");
        }
        let asked = Some(Again::Busy(Some(Duration::from_secs(7))));
        assert_eq!(again(503, &[("Retry-After", "7")], false), asked);
        for (code, passes) in [
            (1, true),
            (2, false),
            (3, false),
            (4, true),
            (8, false),
            (14, true),
            (16, false),
        ] {
            let code = code.to_string();
            let expected = if passes {
                Again::Busy(None)
            } else {
                Again::Never
            };
            let found = again(200, &[("grpc-status", &code)], true);
            assert_eq!(found, Some(expected), "{code}");
        }
        assert_eq!(again(200, &[("grpc-status", "0")], true), None);
    }

    /// `google.rpc.Status` with a `RetryInfo` of 1.5 s, as Go's gRPC writes it.
    #[test]
    fn an_exhausted_collector_that_says_when_is_asked_again() {
        let details = concat!(
            "CAgSBGJ1c3kaNgoodHlwZS5nb29nbGVhcGlzLmNvbS9nb29nbGUucnBjLlJldHJ5SW5mbxIK",
            "CggIARCAyrXuAQ"
        );
        let headers = [("grpc-status", "8"), ("grpc-status-details-bin", details)];
        let asked = Duration::from_millis(1500);
        assert_eq!(again(200, &headers, true), Some(Again::Busy(Some(asked))));
    }

    #[test]
    fn pauses_grow_and_end() {
        let hour = Duration::from_hours(1);
        let wait = |again, tries, left, random| pause(again, tries, left, random);
        let ms = |ms| Some(Duration::from_millis(ms));
        assert_eq!(wait(Again::Unreached, 1, hour, 1.0), ms(500));
        assert_eq!(wait(Again::Busy(None), 1, hour, 0.0), ms(250));
        assert_eq!(wait(Again::Unreached, 3, hour, 1.0), ms(2000));
        assert_eq!(wait(Again::Unreached, MAX_TRIES, hour, 1.0), None);
        assert_eq!(wait(Again::Never, 1, hour, 1.0), None);
        assert_eq!(wait(Again::Busy(ms(30_000)), 1, hour, 1.0), ms(30_000));
        // A pause that does not fit ends the tries at once.
        let short = Duration::from_secs(10);
        assert_eq!(wait(Again::Busy(ms(30_000)), 1, short, 1.0), None);
    }
}
