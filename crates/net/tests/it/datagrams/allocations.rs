//! Sending and receiving does not allocate: counted by an allocator, per thread.

#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::time::Duration;

use roundtrip_net::datagrams::ReceiveBuffers;

use crate::datagrams::{LOOPBACKS, bind, parcel};

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn count() {
    // A thread that is ending has no counter any more.
    let _ = COUNT.try_with(|count| count.set(count.get() + 1));
}

// SAFETY: passes every call to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(place, layout, size) }
    }
}

#[test]
fn sending_and_receiving_does_not_allocate() {
    let before = COUNT.get();
    drop(vec![1]);
    assert_eq!(COUNT.get(), before + 1, "allocations are counted");
    for address in LOOPBACKS {
        let (client, server) = (bind(address), bind(address));
        let bytes = vec![7; 20 * 1200];
        let mut parcel = parcel(&server, 1200, &bytes);
        (parcel.ecn, parcel.from) = (1, Some(address));
        let mut intake = ReceiveBuffers::default();
        let before = COUNT.get();
        let mut received = 0;
        for _ in 0..10 {
            client.send(&parcel).unwrap();
            assert!(server.wait(Some(Duration::from_secs(20))).unwrap());
            server.receive(&mut intake).unwrap();
            for mut arrival in intake.arrivals_mut() {
                received += arrival.datagrams_mut().count();
            }
        }
        assert_eq!((COUNT.get() - before, received), (0, 200));
    }
}
