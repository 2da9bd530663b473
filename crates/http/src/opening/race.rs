//! HTTP/3 and TCP side by side, if a target announces both.

use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::timeout;

/// Browsers give QUIC about this long before they also try TCP.
const QUIC_HEAD_START: Duration = Duration::from_millis(300);

/// How a race ended.
pub struct Raced<T, E> {
    pub outcome: Result<T, E>,
    /// The outcome is that of QUIC.
    pub over_quic: bool,
    /// Why QUIC failed, if it failed before TCP had an outcome.
    pub quic_failed: Option<E>,
}

/// Tries QUIC first, and TCP too when QUIC fails or does not answer soon. The first to be ready
/// wins.
pub async fn race<T, E>(
    quic: impl Future<Output = Result<T, E>>,
    tcp: impl Future<Output = Result<T, E>>,
) -> Raced<T, E> {
    let quic_is_over = Notify::new();
    let quic = async {
        let outcome = quic.await;
        quic_is_over.notify_one();
        outcome
    };
    let tcp = async {
        let _ = timeout(QUIC_HEAD_START, quic_is_over.notified()).await;
        tcp.await
    };
    tokio::pin!(quic, tcp);
    let (outcome, over_quic, quic_failed) = tokio::select! {
        biased;
        first = &mut quic => match first {
            Ok(open) => (Ok(open), true, None),
            Err(error) => (tcp.await, false, Some(error)),
        },
        first = &mut tcp => match first {
            Ok(open) => (Ok(open), false, None),
            Err(_) => (quic.await, true, None),
        },
    };
    Raced {
        outcome,
        over_quic,
        quic_failed,
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use tokio::time::{Instant, sleep};

    use super::*;

    type Outcome = Result<&'static str, &'static str>;

    #[tokio::test(start_paused = true)]
    async fn quic_has_a_head_start_and_no_more() {
        let began = Instant::now();
        let won = race(ready(Outcome::Ok("quic")), ready(Ok("tcp"))).await;
        assert_eq!((won.outcome, won.over_quic), (Ok("quic"), true));
        let silent = race(pending(), ready(Outcome::Ok("tcp"))).await;
        assert_eq!((silent.outcome, silent.over_quic), (Ok("tcp"), false));
        assert_eq!(began.elapsed(), QUIC_HEAD_START);
        assert!(silent.quic_failed.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_of_one_leaves_the_other() {
        let began = Instant::now();
        let failed = race(ready(Outcome::Err("no")), ready(Ok("tcp"))).await;
        assert_eq!(
            (failed.outcome, failed.quic_failed),
            (Ok("tcp"), Some("no"))
        );
        assert_eq!(began.elapsed(), Duration::ZERO);
        let late = async {
            sleep(2 * QUIC_HEAD_START).await;
            Outcome::Ok("quic")
        };
        let raced = race(late, ready(Err("refused"))).await;
        assert_eq!((raced.outcome, raced.over_quic), (Ok("quic"), true));
    }
}
