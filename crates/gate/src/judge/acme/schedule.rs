//! When a certificate is renewed, and when a failed order is tried again. Times are in seconds
//! since 1970; chance is a number from 0 to 1.

use super::AcmeError;
use super::issued::Validity;

/// After a failure that says nothing about the name: the first and the longest wait.
const OUTAGE_WAITS: (i64, i64) = (10, 3600);
/// The first and the longest wait after the CA refused. Let's Encrypt allows five failed
/// validations of a name within an hour.
const REFUSAL_WAITS: (i64, i64) = (150, 24 * 3600);
/// The longest wait that a CA can ask for.
const MAX_RETRY_AFTER: i64 = 7 * 24 * 3600;

/// A third of a certificate's life before it ends, or up to a twentieth of the life earlier, so
/// that certificates that were ordered together are not renewed together.
pub(super) fn renewal(validity: Validity, chance: f64) -> i64 {
    let life = validity.ends.saturating_sub(validity.begins);
    let early = (life as f64 / 20.0 * chance.clamp(0.0, 1.0)) as i64;
    validity
        .begins
        .saturating_add(life / 3 * 2 + life % 3 * 2 / 3)
        - early
}

/// The time of the next attempt that a replica stored after a failure. Its clock may have been
/// wrong: no wait is longer than a CA can ask for.
pub(super) fn next_attempt(stored: i64, now: i64) -> i64 {
    if stored > now.saturating_add(MAX_RETRY_AFTER) {
        now
    } else {
        stored
    }
}

/// When to try again after this many failures in a row, the last one included.
pub(super) fn retry(error: &AcmeError, failures: u32, now: i64, chance: f64) -> i64 {
    let (first, longest) = if error.is_outage() {
        OUTAGE_WAITS
    } else {
        REFUSAL_WAITS
    };
    let doublings = failures.saturating_sub(1).min(30);
    let wait = first.saturating_mul(1 << doublings).min(longest);
    // Waits up to a quarter longer, so that a fleet's replicas do not all try again at once.
    let wait = wait + (wait as f64 / 4.0 * chance.clamp(0.0, 1.0)) as i64;
    let told = error.retry_after().map_or(0, |told| told.as_secs());
    let told = i64::try_from(told).unwrap_or(MAX_RETRY_AFTER);
    now.saturating_add(wait.max(told.min(MAX_RETRY_AFTER)))
}

/// Until when the other names wait as well. A CA does not say whether it limits one name (its
/// certificates in a week) or the account, so another name is tried once an hour.
pub(super) fn pause(error: &AcmeError, next: i64, now: i64) -> i64 {
    if error.is_problem("rateLimited") {
        next.min(now.saturating_add(OUTAGE_WAITS.1))
    } else {
        next
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn refused(retry_after: Option<u64>) -> AcmeError {
        AcmeError::Problem {
            kind: "rateLimited".into(),
            detail: String::new(),
            retry_after: retry_after.map(Duration::from_secs),
        }
    }

    fn outage() -> AcmeError {
        AcmeError::Broken {
            what: "directory",
            why: String::new(),
        }
    }

    #[test]
    fn a_certificate_is_renewed_after_two_thirds_of_its_life_or_a_little_earlier() {
        let validity = Validity {
            begins: 1000,
            ends: 1090,
        };
        assert_eq!(renewal(validity, 0.0), 1060);
        assert_eq!(renewal(validity, 1.0), 1056);
        let extreme = Validity {
            begins: 0,
            ends: i64::MAX,
        };
        assert!(renewal(extreme, 0.5) > 0);
    }

    #[test]
    fn waits_double_up_to_a_bound_and_a_refusal_weighs_more_than_an_outage() {
        let waits = |error: &AcmeError| [1, 2, 3, 40].map(|n| retry(error, n, 0, 0.0));
        assert_eq!(waits(&outage()), [10, 20, 40, 3600]);
        assert_eq!(waits(&refused(None)), [150, 300, 600, 86_400]);
        assert_eq!(retry(&outage(), 3, 100, 1.0), 150);
        assert!(retry(&outage(), 1, i64::MAX - 1, 0.0) > 0);
    }

    #[test]
    fn a_wait_that_no_failure_can_cause_is_over() {
        let now = 1_000_000_000;
        let latest = now + MAX_RETRY_AFTER;
        assert_eq!(next_attempt(latest, now), latest);
        assert_eq!(next_attempt(latest + 1, now), now);
        assert_eq!(next_attempt(i64::MAX, now), now);
        assert_eq!(next_attempt(5, now), 5);
    }

    #[test]
    fn other_names_wait_for_an_hour_at_most() {
        let limited = refused(Some(7 * 24 * 3600));
        let next = retry(&limited, 1, 0, 0.0);
        assert_eq!((next, pause(&limited, next, 0)), (MAX_RETRY_AFTER, 3600));
        assert_eq!(pause(&limited, 150, 0), 150);
        assert_eq!(pause(&outage(), 9000, 0), 9000);
    }

    #[test]
    fn a_ca_that_says_when_is_obeyed_within_a_bound() {
        assert_eq!(retry(&refused(Some(4000)), 1, 100, 0.0), 4100);
        assert_eq!(retry(&refused(Some(1)), 1, 0, 0.0), 150);
        assert_eq!(retry(&refused(Some(u64::MAX)), 1, 0, 0.0), MAX_RETRY_AFTER);
    }
}
