//! Connections of processes that are already running.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use roundtrip_model::Moment;
use roundtrip_tap::watch::{Watch, Watched};

#[test]
fn a_process_s_connections_are_sampled_until_it_ends() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (mut peer, _) = listener.accept().unwrap();
    let me = std::process::id().cast_signed();
    let local = ours.local_addr().unwrap();
    let mut watch = Watch::new(Watched::Process(me));
    let mut sample = |ms: f64| {
        let all = watch.sample(Moment::from_millis(ms)).unwrap().unwrap();
        all.into_iter().find(|sample| sample.local == local)
    };
    assert_eq!(sample(0.0).unwrap().bytes_received, 0);
    peer.write_all(&[1; 500]).unwrap();
    ours.peek(&mut [0]).unwrap();
    let then = sample(100.0).unwrap();
    assert_eq!((then.bytes_received, then.unread), (500, 500));
    assert!(then.rtt.is_some() && then.state == "ESTABLISHED");
    // Still unread in the next sample: the program is the slow side.
    let then = sample(200.0).unwrap();
    let ids: Vec<_> = then.symptoms.iter().map(|symptom| symptom.id).collect();
    assert_eq!((then.bytes_received, ids.contains(&"unread")), (0, true));
    ours.read_exact(&mut [0; 500]).unwrap();
    drop((ours, peer));
    assert!(sample(300.0).is_none());

    let mut other = Watch::new(Watched::Process(1 << 23));
    assert!(other.sample(Moment(1)).unwrap().is_none());
}

#[test]
fn a_port_has_the_connections_of_both_sides() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let _ours = TcpStream::connect(address).unwrap();
    let _theirs = listener.accept().unwrap();
    let mut watch = Watch::new(Watched::Port(address.port()));
    let all = watch.sample(Moment(1)).unwrap().unwrap();
    assert_eq!(all.len(), 2);
}
