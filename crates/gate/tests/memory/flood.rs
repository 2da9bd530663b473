//! First datagrams from spoofed addresses: each comes from another loopback address. Used by the
//! memory tests and by the example `strangers`.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use roundtrip_wire::quic::ConnectionId;

use crate::strangers::{Kind, first, hello};
use crate::tls_client::h3_config;

/// This many are sent before answers are read, which mostly come at once or not at all.
const BATCH: usize = 64;
const PATIENCE: Duration = Duration::from_millis(30);
/// The first byte of a Retry; its low bits are arbitrary. RFC 9000 §17.2.5.
const RETRY: u8 = 0xf0;

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Answers {
    pub(crate) retries: usize,
    pub(crate) others: usize,
}

/// Sends `count` of them, numbered from `start` on.
pub(crate) fn flood(to: SocketAddr, kind: Kind, start: u32, count: u32) -> Answers {
    let hello = hello(&h3_config(None));
    let frames = kind.frames(&hello);
    let mut answers = Answers::default();
    let mut sockets: Vec<UdpSocket> = Vec::new();
    for number in start..start + count {
        // 127.16.0.0 and the following addresses.
        let from = Ipv4Addr::from(0x7f10_0000 + number);
        let socket = UdpSocket::bind((from, 0)).unwrap();
        socket.connect(to).unwrap();
        socket.set_nonblocking(true).unwrap();
        let id = [&b"none"[..], &number.to_be_bytes()].concat();
        let datagram = first(&ConnectionId::new(&id).unwrap(), &frames);
        socket.send(&datagram).unwrap();
        sockets.push(socket);
        if sockets.len() == BATCH || number + 1 == start + count {
            look(&mut sockets, &mut answers);
        }
    }
    answers
}

/// Reads answers for a little while.
fn look(sockets: &mut Vec<UdpSocket>, answers: &mut Answers) {
    let until = Instant::now() + PATIENCE;
    while !sockets.is_empty() && Instant::now() < until {
        sockets.retain(|socket| {
            let mut answer = [0; 2000];
            let is_answered = socket.recv(&mut answer).is_ok();
            if is_answered && answer[0] & RETRY == RETRY {
                answers.retries += 1;
            } else if is_answered {
                answers.others += 1;
            }
            !is_answered
        });
    }
    sockets.clear();
}
