//! Requests whose bodies are still arriving, and the connections that others need.

use super::*;

/// Half of the connections; and who still sends does not stand in the way of who comes later with a
/// whole request.
#[test]
fn who_still_sends_leaves_connections_to_others() {
    paused(async || {
        let world = World::new(rules(Balance::InTurn, 4, 0), 1);
        let upload = PoolRequest {
            upload: true,
            ..PoolRequest::default()
        };
        let claim = |want| world.pools.claim(want);
        let sending: Vec<_> = (0..2).map(|_| claim(upload).unwrap()).collect();
        assert_eq!(claim(upload).unwrap_err(), PoolError::Busy);
        let mut waiting = [(); 2].map(|()| world.pools.wait(upload).unwrap());
        let others: Vec<_> = (0..2)
            .map(|_| claim(PoolRequest::default()).unwrap())
            .collect();
        assert_eq!(claim(PoolRequest::default()).unwrap_err(), PoolError::Busy);
        let mut other = world.pools.wait(PoolRequest::default()).unwrap();
        // What others give back is not for who still sends.
        drop(others);
        drop(other.try_recv().unwrap());
        assert!(waiting[0].try_recv().is_err());
        // Whose request is whole makes room, and keeps its connection.
        sending[0].slot.uploaded();
        sending[0].slot.uploaded();
        let third = waiting[0].try_recv().unwrap();
        assert!(waiting[1].try_recv().is_err());
        drop(third);
        assert!(waiting[1].try_recv().is_ok());
    });
}
