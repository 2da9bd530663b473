//! The clock of a client's configuration. rustls computes the age of a ticket from whole seconds,
//! so that two seconds can seem to have passed when it was one. Some servers (GnuTLS) take a ticket
//! that claims to be older than it is for a replay, and refuse its early data. So while a ticket is
//! being offered, this clock shows a time at which the age is rounded down. RFC 8446 §4.2.11.1.

use std::cell::Cell;
use std::time::{SystemTime, UNIX_EPOCH};

use rustls::pki_types::UnixTime;
use rustls::time_provider::TimeProvider;

use crate::stored_session::{seconds, time};

thread_local! {
    /// The time of receipt of the ticket that was just taken from the session memory. rustls asks
    /// for the time next, on the same thread.
    static TAKEN: Cell<Option<SystemTime>> = const { Cell::new(None) };
}

#[derive(Debug)]
pub(crate) struct TicketClock;

impl TimeProvider for TicketClock {
    fn current_time(&self) -> Option<UnixTime> {
        let now = SystemTime::now();
        let shown = TAKEN.take().map_or(now, |received| rounded(received, now));
        let since = shown.duration_since(UNIX_EPOCH).ok()?;
        Some(UnixTime::since_unix_epoch(since))
    }
}

pub(crate) fn on_taken(received: SystemTime) {
    TAKEN.set(Some(received));
}

/// The time `now`, rounded so that it is a number of whole seconds after the whole second of
/// `received`.
fn rounded(received: SystemTime, now: SystemTime) -> SystemTime {
    let age = now.duration_since(received).unwrap_or_default();
    time(seconds(received).saturating_add(age.as_secs()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(millis: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_millis(millis)
    }

    #[test]
    fn no_ticket_claims_to_be_older_than_it_is() {
        for received in (5_000..6_000).step_by(7) {
            for age in (0..3_000).step_by(11) {
                let shown = rounded(at(received), at(received + age));
                let claimed = shown.duration_since(at(5_000)).expect("later").as_secs();
                assert_eq!(claimed, age / 1000, "received at {received}, {age} ms old");
            }
        }
    }

    #[test]
    fn a_clock_that_was_set_back_makes_no_age() {
        assert_eq!(rounded(at(5_500), at(1_000)), at(5_000));
    }

    #[test]
    fn only_the_ticket_that_is_offered_counts() {
        let hour_ago = SystemTime::now() - Duration::from_millis(3_600_900);
        on_taken(hour_ago);
        let begun = hour_ago
            .duration_since(UNIX_EPOCH)
            .expect("after 1970")
            .as_secs();
        let first = TicketClock.current_time().expect("a time").as_secs();
        assert!((3600..3700).contains(&(first - begun)));
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .expect("after 1970");
        assert!(TicketClock.current_time().expect("a time").as_secs() >= now.as_secs());
    }
}
