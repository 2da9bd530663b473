//! The kernel's arrival times of datagrams are exact even if they are read late.

use std::thread::sleep;
use std::time::Duration;

use roundtrip_model::{Clock, Moment};
use roundtrip_net::SystemClock;
use roundtrip_net::datagrams::ReceiveBuffers;

use crate::datagrams::{LOOPBACKS, bind, parcel};

const PAUSE: Duration = Duration::from_millis(60);

#[test]
fn each_run_has_its_arrival_time_although_it_is_read_late() {
    for address in LOOPBACKS {
        let clock = SystemClock::start();
        let (client, server) = (bind(address), bind(address));
        server.stamp().unwrap();
        // The kernel can begin to timestamp a little later.
        sleep(PAUSE);
        for segment in [5, 7] {
            client.send(&parcel(&server, segment, &[1; 20])).unwrap();
            sleep(PAUSE);
        }
        let mut intake = ReceiveBuffers::default();
        assert_eq!(server.receive(&mut intake).unwrap(), 2);
        let now = clock.now();
        let arrived: Vec<Moment> = intake
            .arrivals_mut()
            .map(|a| a.moment(|| clock.now()))
            .collect();
        assert!(arrived[1].since(arrived[0]) >= PAUSE / 2, "{arrived:?}");
        assert!(now.since(arrived[1]) >= PAUSE / 2, "{arrived:?} {now:?}");
    }
}

#[test]
fn without_timestamps_the_arrival_time_is_now() {
    let (client, server) = (bind(LOOPBACKS[0]), bind(LOOPBACKS[0]));
    client.send(&parcel(&server, 5, b"hello")).unwrap();
    let mut intake = ReceiveBuffers::default();
    assert!(server.wait(None).unwrap());
    server.receive(&mut intake).unwrap();
    let now = Moment(7);
    assert!(intake.arrivals_mut().all(|a| a.moment(|| now) == now));
}
