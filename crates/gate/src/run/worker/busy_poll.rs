//! Busy polling, as HAProxy's `busy-polling`: a thread that has nothing left to do asks the kernel
//! for events for a while before it sleeps. A processor that sleeps takes some 10 µs to wake up,
//! and the next event often comes sooner.

use std::cell::RefCell;
use std::future::poll_fn;
use std::task::{Poll, Waker};
use std::time::Duration;

use tokio::task::yield_now;
use tokio::time::Instant;

thread_local! {
    static WOKEN: RefCell<Woken> = const { RefCell::new(Woken { at: None, waiting: None }) };
}

/// The notice from the thread's runtime to the polling task.
struct Woken {
    /// When the thread woke up last; taken by the task.
    at: Option<Instant>,
    waiting: Option<Waker>,
}

/// Notes that the thread was asleep. The runtime calls it after each sleep.
pub(super) fn thread_woke_up() {
    let waker = WOKEN.with_borrow_mut(|woken| {
        woken.at = Some(Instant::now());
        woken.waiting.take()
    });
    if let Some(waker) = waker {
        waker.wake();
    }
}

/// Keeps the thread awake for `time` after each sleep.
pub(super) async fn keep_awake(time: Duration) {
    loop {
        let woke_up = poll_fn(|cx| {
            WOKEN.with_borrow_mut(|woken| {
                woken.waiting = Some(cx.waker().clone());
                woken.at.take().map_or(Poll::Pending, Poll::Ready)
            })
        })
        .await;
        // A task that yields lets the runtime look for events without waiting for them.
        while woke_up.elapsed() < time {
            yield_now().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, UdpSocket};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    const DATAGRAMS: u64 = 50;

    /// How often a thread with this `busy_poll` sleeps while a peer sends a datagram 200 µs after
    /// each answer.
    fn sleeps_with(busy_poll: Duration) -> u64 {
        let sleeps = Arc::new(AtomicU64::new(0));
        let counted = sleeps.clone();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .on_thread_park(move || {
                counted.fetch_add(1, Ordering::Relaxed);
            })
            .on_thread_unpark(thread_woke_up)
            .build()
            .unwrap();
        let local = tokio::task::LocalSet::new();
        local.block_on(&runtime, async {
            let socket = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
            let address = socket.local_addr().unwrap();
            let peer = std::thread::spawn(move || ask(address));
            let polling = tokio::task::spawn_local(keep_awake(busy_poll));
            for _ in 0..DATAGRAMS {
                let (_, from) = socket.recv_from(&mut [0; 8]).await.unwrap();
                socket.send_to(b"y", from).await.unwrap();
            }
            polling.abort();
            peer.join().unwrap();
        });
        sleeps.load(Ordering::Relaxed)
    }

    fn ask(address: SocketAddr) {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        for _ in 0..DATAGRAMS {
            std::thread::sleep(Duration::from_micros(200));
            socket.send_to(b"x", address).unwrap();
            socket.recv(&mut [0; 8]).unwrap();
        }
    }

    #[test]
    fn a_thread_that_polls_sleeps_less_often_than_events_arrive() {
        let sleeps = sleeps_with(Duration::from_secs(10));
        assert!(sleeps < DATAGRAMS / 5, "{sleeps} sleeps");
    }

    #[test]
    fn a_thread_sleeps_when_the_time_is_over() {
        let sleeps = sleeps_with(Duration::ZERO);
        assert!(sleeps > DATAGRAMS / 5, "{sleeps} sleeps");
    }
}
