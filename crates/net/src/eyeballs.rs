//! Happy Eyeballs: attempts start 250 ms apart, families alternate, the first to succeed wins. RFC
//! 8305 §4 and §5.

use std::future::{Future, poll_fn};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use roundtrip_model::{Attempt, AttemptOutcome, Event, Moment, Recorder};
use tokio::time::{Sleep, sleep};

use crate::connect::{AttemptError, FailedAttempt, OpenedConnection, attempt_fact};
use crate::presence::{Presence, Throttling};
use crate::{Connect, NetError, Socket};

/// The recommended Connection Attempt Delay (RFC 8305 §5).
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);

impl Connect {
    /// Races `peers`. `attempts` receives all attempts, even if none succeeded.
    pub async fn open(
        &self,
        peers: &[SocketAddr],
        recorder: &Recorder,
        attempts: &mut Vec<Attempt>,
    ) -> Result<Socket, NetError> {
        let mut race = Race {
            connect: self,
            throttling: Throttling::watch(),
            recorder,
            pending: alternate(peers, self.first).into_iter(),
            running: Vec::new(),
            failures: Vec::new(),
            next: Box::pin(sleep(Duration::ZERO)),
            attempts,
        };
        if race.pending.len() == 0 {
            return Err(NetError::NoAddress);
        }
        race.start_next();
        poll_fn(|cx| race.poll(cx)).await
    }
}

/// Orders addresses: IPv6 first, then alternating, each family in the resolver's order, but `first`
/// before all others (RFC 8305 §4).
fn alternate(peers: &[SocketAddr], first: Option<IpAddr>) -> Vec<SocketAddr> {
    let (six, four): (Vec<SocketAddr>, Vec<SocketAddr>) = peers.iter().partition(|p| p.is_ipv6());
    let (mut six, mut four) = (six.into_iter(), four.into_iter());
    let mut order = Vec::with_capacity(peers.len());
    loop {
        match (six.next(), four.next()) {
            (None, None) => break,
            (a, b) => order.extend(a.into_iter().chain(b)),
        }
    }
    order.sort_by_key(|peer| Some(peer.ip()) != first);
    order
}

type Attempting<'a> =
    Pin<Box<dyn Future<Output = Result<OpenedConnection, AttemptError>> + Send + 'a>>;

struct RunningAttempt<'a> {
    peer: SocketAddr,
    began: Moment,
    future: Attempting<'a>,
}

struct Race<'a> {
    connect: &'a Connect,
    throttling: Throttling,
    recorder: &'a Recorder,
    pending: std::vec::IntoIter<SocketAddr>,
    running: Vec<RunningAttempt<'a>>,
    failures: Vec<(SocketAddr, io::Error)>,
    next: Pin<Box<Sleep>>,
    attempts: &'a mut Vec<Attempt>,
}

impl Race<'_> {
    fn start_next(&mut self) {
        let Some(peer) = self.pending.next() else {
            return;
        };
        let presence = Presence::now(self.recorder);
        let began = Moment::ZERO + presence.at.since(self.recorder.zero());
        self.recorder
            .record_at(began, Event::AttemptStarted { peer });
        let future = self
            .connect
            .attempt(peer, presence, self.throttling, self.recorder);
        let future = Box::pin(future);
        self.running.push(RunningAttempt {
            peer,
            began,
            future,
        });
        self.next = Box::pin(sleep(ATTEMPT_DELAY));
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Socket, NetError>> {
        loop {
            if let Some(outcome) = self.poll_running(cx) {
                return Poll::Ready(outcome);
            }
            if self.running.is_empty() {
                if self.pending.len() == 0 {
                    return Poll::Ready(Err(NetError::AllFailed(std::mem::take(
                        &mut self.failures,
                    ))));
                }
                // A failure starts the next attempt at once (RFC 8305 §5).
                self.start_next();
            } else if self.pending.len() > 0 && self.next.as_mut().poll(cx).is_ready() {
                self.start_next();
            } else {
                return Poll::Pending;
            }
        }
    }

    /// Polls every attempt; `Some` when the race has ended.
    fn poll_running(&mut self, cx: &mut Context<'_>) -> Option<Result<Socket, NetError>> {
        let mut place = 0;
        while let Some(running) = self.running.get_mut(place) {
            let Poll::Ready(outcome) = running.future.as_mut().poll(cx) else {
                place += 1;
                continue;
            };
            let RunningAttempt { peer, began, .. } = self.running.swap_remove(place);
            match outcome {
                Ok(opened) => return Some(Ok(self.won(peer, began, opened))),
                Err(AttemptError::Local(error)) => return Some(Err(error)),
                Err(AttemptError::Peer(failed)) => self.failed(peer, began, failed),
            }
        }
        None
    }

    fn won(&mut self, peer: SocketAddr, began: Moment, opened: OpenedConnection) -> Socket {
        opened.record(peer, self.recorder);
        self.attempts
            .push(attempt_fact(peer, began, opened.at, AttemptOutcome::Won));
        opened.socket
    }

    fn failed(&mut self, peer: SocketAddr, began: Moment, failed: FailedAttempt) {
        let at = failed.at.max(began);
        self.recorder.record_at(at, Event::AttemptFailed { peer });
        if let Some(absence) = failed.absence {
            self.recorder.record(absence);
        }
        let outcome = AttemptOutcome::Failed(failed.error.to_string());
        self.attempts.push(attempt_fact(peer, began, at, outcome));
        self.failures.push((peer, failed.error));
    }
}

impl Drop for Race<'_> {
    /// When the race ends, also records the attempts that are still running: they lost, or timed
    /// out.
    fn drop(&mut self) {
        let now = self.recorder.now();
        for running in self.running.drain(..) {
            self.attempts.push(attempt_fact(
                running.peer,
                running.began,
                now,
                AttemptOutcome::Abandoned,
            ));
        }
        self.attempts.sort_by_key(|a| a.began);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::SystemClock;

    /// The kernel refuses at once. The client does something else before it takes notice.
    #[tokio::test]
    async fn a_refusal_on_this_host_took_no_time() {
        let deaf = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None);
        let deaf = deaf.unwrap();
        let any: SocketAddr = ([127, 0, 0, 1], 0).into();
        deaf.bind(&any.into()).unwrap();
        let peers = [deaf.local_addr().unwrap().as_socket().unwrap()];
        let recorder = Recorder::new(Arc::new(SystemClock::start()));
        let mut attempts = Vec::new();
        let busy = async { std::thread::sleep(Duration::from_millis(400)) };
        let connect = Connect::default();
        let (opened, ()) = tokio::join!(connect.open(&peers, &recorder, &mut attempts), busy);
        assert!(matches!(opened, Err(NetError::AllFailed(_))));
        let took = attempts[0].ended.since(attempts[0].began);
        assert!(took < Duration::from_millis(200), "{took:?}");
    }

    #[test]
    fn families_alternate_beginning_with_ipv6() {
        let peers: Vec<SocketAddr> = ["1.0.0.1:1", "1.0.0.2:1", "[::1]:1", "1.0.0.3:1"]
            .iter()
            .map(|s| s.parse().unwrap())
            .collect();
        let order = |first| -> Vec<String> {
            let order = alternate(&peers, first).into_iter();
            order.map(|peer| peer.to_string()).collect()
        };
        let natural = ["[::1]:1", "1.0.0.1:1", "1.0.0.2:1", "1.0.0.3:1"];
        assert_eq!(order(None), natural);
        assert_eq!(order(Some([1, 0, 0, 9].into())), natural);
        assert_eq!(
            order(Some([1, 0, 0, 2].into())),
            ["1.0.0.2:1", "[::1]:1", "1.0.0.1:1", "1.0.0.3:1"]
        );
    }
}
