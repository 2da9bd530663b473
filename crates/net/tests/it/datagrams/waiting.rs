//! The events that end a wait.

use std::io::ErrorKind;
use std::thread;
use std::time::{Duration, Instant};

use roundtrip_net::datagrams::{
    MAX_WATCHED, ReceiveBuffers, WaitOutcome, Waker, WatchedDescriptor, wait_for_any,
};

use crate::datagrams::{LOOPBACKS, bind, parcel, receive};

#[test]
fn a_wait_ends_after_its_timeout_and_not_before() {
    let socket = bind(LOOPBACKS[0]);
    for microseconds in [0, 300, 2500] {
        let timeout = Duration::from_micros(microseconds);
        let began = Instant::now();
        assert!(!socket.wait(Some(timeout)).unwrap());
        assert!(began.elapsed() >= timeout);
    }
    assert_eq!(socket.calls().waits, 3);
    let nothing = socket.receive(&mut ReceiveBuffers::new(1)).unwrap_err();
    assert_eq!(nothing.kind(), ErrorKind::WouldBlock);
}

#[test]
fn only_awaited_events_end_a_wait() {
    let (client, server) = (bind(LOOPBACKS[1]), bind(LOOPBACKS[1]));
    let idle = server.wait_with(true, None, None).unwrap();
    let room = WaitOutcome {
        room: true,
        ..WaitOutcome::default()
    };
    assert_eq!(idle, room);
    client.send(&parcel(&server, 9, b"x")).unwrap();
    assert!(server.wait(None).unwrap());
    receive(&server, 1);
    assert!(!server.wait(Some(Duration::ZERO)).unwrap());
}

#[test]
fn a_waker_ends_the_wait_of_another_thread_once() {
    let socket = bind(LOOPBACKS[0]);
    let waker = Waker::new().unwrap();
    let bell = waker.clone();
    let ringer = thread::spawn(move || (0..3).for_each(|_| bell.wake()));
    let woken = WaitOutcome {
        woken: true,
        ..WaitOutcome::default()
    };
    assert_eq!(socket.wait_with(false, Some(&waker), None).unwrap(), woken);
    ringer.join().unwrap();
    // One more wake-up can be pending, but not two.
    let again = || {
        let ready = socket.wait_with(false, Some(&waker), Some(Duration::ZERO));
        ready.unwrap().woken
    };
    again();
    assert!(!again());
    assert!(!waker.hear());
}

#[test]
fn several_descriptors_are_told_apart() {
    let (client, server) = (bind(LOOPBACKS[0]), bind(LOOPBACKS[0]));
    let waker = Waker::new().unwrap();
    let mut watched = [
        WatchedDescriptor::for_reading(&server),
        WatchedDescriptor::for_reading(&waker),
        WatchedDescriptor::for_writing(&client),
    ];
    let mut told = |expected: [bool; 3]| {
        let count = wait_for_any(&mut watched, None).unwrap();
        assert_eq!(count, expected.iter().filter(|ready| **ready).count());
        assert!(watched.iter().map(WatchedDescriptor::is_ready).eq(expected));
    };
    told([false, false, true]);
    waker.wake();
    told([false, true, true]);
    assert!(waker.hear());
    client.send(&parcel(&server, 9, b"x")).unwrap();
    told([true, false, true]);
    let mut many: Vec<_> = (0..=MAX_WATCHED)
        .map(|_| WatchedDescriptor::for_reading(&waker))
        .collect();
    let refused = wait_for_any(&mut many, Some(Duration::ZERO)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidInput);
    assert_eq!(
        wait_for_any(&mut many[1..], Some(Duration::ZERO)).unwrap(),
        0
    );
}
