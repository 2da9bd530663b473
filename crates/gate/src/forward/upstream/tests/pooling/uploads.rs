//! Requests whose bodies are still arriving, answers that are read slowly, and the connections that
//! others need.

use tokio::sync::oneshot::error::TryRecvError;

use super::*;

/// Uploads get half of the connections, and do not delay complete requests that come later.
#[test]
fn a_client_that_still_sends_leaves_connections_to_others() {
    paused(async || {
        let world = World::new(rules(Balance::InTurn, 4, 0), 1);
        let upload = PoolRequest {
            upload: true,
            ..PoolRequest::default()
        };
        let claim = |want| world.pools.claim(want);
        let sending: Vec<_> = (0..2).map(|_| claim(upload).unwrap()).collect();
        assert_eq!(claim(upload).unwrap_err(), PoolError::Share);
        let mut waiting = [(); 2].map(|()| world.pools.wait(upload).unwrap());
        let others: Vec<_> = (0..2)
            .map(|_| claim(PoolRequest::default()).unwrap())
            .collect();
        assert_eq!(claim(PoolRequest::default()).unwrap_err(), PoolError::Busy);
        let mut other = world.pools.wait(PoolRequest::default()).unwrap();
        // Connections that others return do not go to uploads.
        drop(others);
        drop(other.try_recv().unwrap());
        assert!(waiting[0].try_recv().is_err());
        // An upload that is complete makes room, and keeps its connection.
        sending[0].slot.uploaded();
        sending[0].slot.uploaded();
        let third = waiting[0].try_recv().unwrap();
        assert!(waiting[1].try_recv().is_err());
        drop(third);
        assert!(waiting[1].try_recv().is_ok());
    });
}

/// Slow readers and arriving requests share a half; a quarter is left to slow readers.
#[test]
fn a_slow_reader_gives_way_to_uploads_too() {
    paused(async || {
        let world = World::new(rules(Balance::InTurn, 8, 0), 1);
        let claim = |want| world.pools.claim(want);
        let upload = PoolRequest {
            upload: true,
            ..PoolRequest::default()
        };
        let mut reading: Vec<_> = (0..6)
            .map(|_| claim(PoolRequest::default()).unwrap().slot)
            .collect();
        let sending = [(); 2].map(|()| claim(upload).unwrap());
        for slot in &reading[..3] {
            slot.client_is_slow(true);
        }
        let waiting = world.pools.wait(PoolRequest::default()).unwrap();
        assert!(
            reading[0].is_needed(),
            "2 of 4 still send, so 2 may be slow"
        );
        reading[0].client_is_slow(false);
        assert!(!reading[1].is_needed());
        drop((waiting, sending));
        // Now an upload waits, and there is a place for it among uploads.
        for slot in &reading {
            slot.client_is_slow(true);
        }
        let others = [(); 2].map(|()| claim(PoolRequest::default()).unwrap());
        let uploading = world.pools.wait(upload).unwrap();
        assert!(reading[0].is_needed());
        drop(reading.split_off(4));
        assert!(!reading[0].is_needed());
        drop((uploading, others));
    });
}

/// A client that asks for much waits for itself, not others for it.
#[test]
fn clients_wait_in_turn() {
    paused(async || {
        let world = World::new(rules(Balance::InTurn, 1, 0), 1);
        let from = |last| PoolRequest {
            client: Some([192, 0, 2, last].into()),
            ..PoolRequest::default()
        };
        let mut held = Some(world.pools.claim(from(1)).unwrap());
        let wait = |last| world.pools.wait(from(last));
        let mut many: Vec<_> = (0..WAITING - 1).map(|_| wait(1).unwrap()).collect();
        let mut one = wait(2).unwrap();
        assert!(wait(1).is_none(), "it has the most already");
        // Another client takes the place of the last of those.
        let mut other = wait(3).unwrap();
        assert!(
            many.pop()
                .unwrap()
                .try_recv()
                .is_err_and(|e| e == TryRecvError::Closed)
        );
        for waiter in [&mut many[0], &mut one, &mut other] {
            assert!(waiter.try_recv().is_err());
            drop(held.take());
            held = Some(waiter.try_recv().unwrap());
        }
    });
}

/// Half of the connections may go to slow readers while others wait; all of them otherwise.
#[test]
fn a_slow_reader_gives_way_when_others_wait() {
    paused(async || {
        let world = World::new(rules(Balance::InTurn, 4, 0), 1);
        let claim = || world.pools.claim(PoolRequest::default());
        let mut reading: Vec<_> = (0..4).map(|_| claim().unwrap().slot).collect();
        for slot in &reading[..3] {
            slot.client_is_slow(true);
            slot.client_is_slow(true);
        }
        assert!(!reading[0].is_needed(), "nobody waits");
        let waiting = world.pools.wait(PoolRequest::default()).unwrap();
        assert!(reading[0].is_needed());
        assert!(!reading[3].is_needed(), "it is not slow");
        reading[1].client_is_slow(false);
        assert!(!reading[0].is_needed(), "two of four may be slow");
        reading[1].client_is_slow(true);
        assert!(reading[0].is_needed());
        drop(reading.swap_remove(2));
        assert!(!reading[0].is_needed(), "a slow one has gone");
        drop(waiting);
    });
}
