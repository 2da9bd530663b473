//! Boxes that interfere with the opening of connections, and how Linux's TCP recovers.

use std::io::{ErrorKind, Read, Write};
use std::time::{Duration, Instant};

use crate::{eventually, fast_open, kernel, lost_to, path_with, tcp};

#[test]
fn data_in_the_syn_is_dropped_and_the_syn_sent_again_without() {
    let path = path_with(&["drop-syn-data"]);
    // The first SYN requests a cookie, and has no data yet.
    let (listener, address) = fast_open::warm_up(&path);
    assert_eq!(path.counters().up.dropped, 0);
    let client = fast_open::greet(&path, &listener, address);
    assert!(fast_open::settled(&client));
    assert!(!kernel::was_syn_data_acknowledged(&client));
    assert!(kernel::tcp_info(&client).tcpi_total_retrans >= 1);
    assert_eq!(lost_to("drop-syn-data", &path.counters().up), 1);
}

#[test]
fn a_fast_opened_connection_gets_no_further_than_its_syn() {
    let path = path_with(&["drop-after-syn-data"]);
    let (listener, address) = fast_open::warm_up(&path);
    let mut client = path
        .client()
        .run(|| kernel::connect_with(b"hello", address))
        .unwrap();
    let (mut server, _) = listener.accept().unwrap();
    let mut greeting = [0; 5];
    server.read_exact(&mut greeting).unwrap();
    client.write_all(b"and more").unwrap();
    server
        .set_read_timeout(Some(Duration::from_millis(300)))
        .unwrap();
    let more = server.read(&mut [0; 8]).unwrap_err();
    assert_eq!(more.kind(), ErrorKind::WouldBlock);
    let lost = || lost_to("drop-after-syn-data", &path.counters().up);
    assert!(eventually(|| lost() >= 2));
}

/// A SYN is dropped for one of its options, and the next one is sent with fewer.
fn is_repeated_with_less(dislike: &str, setting: &str, value: &str) {
    let path = path_with(&[&format!("drop-syn-options:{dislike}")]);
    for side in [path.client(), path.server()] {
        side.sysctl(setting, value).unwrap();
    }
    let (listener, address) = tcp::listen(&path).remove(0);
    kernel::accept_fast_open(&listener);
    let client = path
        .client()
        .run(|| kernel::connect_with(b"hello", address))
        .unwrap();
    let (mut server, _) = listener.accept().unwrap();
    let mut greeting = [0; 5];
    server.read_exact(&mut greeting).unwrap();
    let up = path.counters().up;
    assert_eq!(lost_to("drop-syn-options", &up), 1, "{dislike}: {up:?}");
    assert_eq!(kernel::tcp_info(&client).tcpi_total_retrans, 1);
    assert!(!kernel::agreed_on_ecn(&client), "{dislike}");
}

#[test]
fn a_syn_that_asks_for_fast_open_is_repeated_without() {
    is_repeated_with_less("tfo", "net.ipv4.tcp_fastopen", "3");
}

#[test]
fn a_syn_with_an_option_unknown_to_old_boxes_is_repeated_without() {
    is_repeated_with_less("unknown", "net.ipv4.tcp_fastopen", "3");
}

#[test]
fn a_syn_that_asks_for_ecn_is_repeated_without() {
    is_repeated_with_less("ecn", "net.ipv4.tcp_ecn", "1");
}

#[test]
fn a_duplicated_syn_opens_one_connection() {
    for twice in ["duplicate-syn", "duplicate-syn:3ms"] {
        let path = path_with(&[twice]);
        let (listener, address) = fast_open::warm_up(&path);
        let client = fast_open::greet(&path, &listener, address);
        assert!(fast_open::settled(&client));
        assert!(kernel::was_syn_data_acknowledged(&client));
        listener.set_nonblocking(true).unwrap();
        assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
        // The copy may still be in transit, as may a last acknowledgement.
        let is_doubled = || {
            let up = path.counters().up;
            up.delivered > up.packets
        };
        assert!(eventually(is_doubled), "{:?}", path.counters().up);
    }
}

#[test]
fn a_late_copy_of_a_fast_opened_syn_is_served_again() {
    // RFC 7413 §6.1: the copy arrives long after the first connection has been reset.
    let path = path_with(&["duplicate-syn:1s"]);
    let (listener, address) = fast_open::warm_up(&path);
    let _client = path
        .client()
        .run(|| kernel::connect_with(b"hello", address))
        .unwrap();
    let (mut first, peer) = listener.accept().unwrap();
    first.read_exact(&mut [0; 5]).unwrap();
    // Closing this way sends RST, and keeps no state of the connection.
    kernel::reset_on_close(&first);
    drop(first);
    listener.set_nonblocking(true).unwrap();
    let mut again = None;
    assert!(eventually(|| {
        again = listener.accept().ok();
        again.is_some()
    }));
    let (mut second, same_peer) = again.unwrap();
    second.set_nonblocking(false).unwrap();
    let mut greeting = [0; 5];
    second.read_exact(&mut greeting).unwrap();
    assert_eq!((&greeting, same_peer), (b"hello", peer));
}

#[test]
fn a_lower_segment_size_is_used_by_both_ends() {
    let path = path_with(&["clamp-mss:1200"]);
    for (listener, address) in tcp::listen(&path) {
        let client = tcp::connect(&path, address);
        let (server, _) = listener.accept().unwrap();
        // Less the time stamps that Linux adds (RFC 7323).
        for end in [client, server] {
            assert_eq!(kernel::tcp_info(&end).tcpi_snd_mss, 1200 - 12);
        }
    }
}

#[test]
fn bleached_packets_carry_no_ecn_although_it_was_negotiated() {
    for (boxes, seen) in [(&[][..], true), (&["bleach-ecn"][..], false)] {
        let path = path_with(boxes);
        for side in [path.client(), path.server()] {
            side.sysctl("net.ipv4.tcp_ecn", "1").unwrap();
        }
        for (listener, address) in tcp::listen(&path) {
            let mut client = tcp::connect(&path, address);
            let (mut server, _) = listener.accept().unwrap();
            client.write_all(&[7; 100]).unwrap();
            server.read_exact(&mut [0; 100]).unwrap();
            assert!(kernel::agreed_on_ecn(&client) && kernel::agreed_on_ecn(&server));
            assert_eq!(kernel::has_seen_ecn(&server), seen, "{boxes:?}");
        }
    }
}

#[test]
fn the_first_packet_pays_for_waking_the_radio() {
    let path = path_with(&["wake-up:300ms,30s"]);
    let (_listener, address) = tcp::listen(&path).remove(0);
    let times = [(); 2].map(|()| {
        let start = Instant::now();
        tcp::connect(&path, address);
        start.elapsed()
    });
    assert!(times[0] >= Duration::from_millis(310), "{times:?}");
    assert!(times[1] < times[0], "{times:?}");
}
