//! The wire without a relay: which packets cross it, and in which form, with and without offloads.

use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::thread;
use std::time::Duration;

use roundtrip_path::{Namespace, Path};

use crate::{addresses, kernel, tcp};

const LENGTH: usize = 4 << 20;
const SEGMENT: u16 = 1200;
const SEGMENTS: usize = 20;

fn bare(offload: bool) -> Path {
    Path::builder().bare().offload(offload).build().unwrap()
}

/// Packets that have arrived at this side's end of the wire, in the form in which its stack
/// received them.
fn arrived(side: &Namespace) -> u64 {
    let read = || std::fs::read_to_string("/proc/thread-self/net/dev").unwrap();
    let table = side.run(read).unwrap();
    let line = table
        .lines()
        .find_map(|line| line.trim().strip_prefix("eth0:"));
    line.unwrap()
        .split_whitespace()
        .nth(1)
        .unwrap()
        .parse()
        .unwrap()
}

#[test]
fn a_transfer_crosses_in_super_segments_or_in_real_ones() {
    let sent: Vec<u8> = (0..LENGTH).map(|index| (index % 251) as u8).collect();
    for offload in [true, false] {
        let path = bare(offload);
        for (listener, address) in tcp::listen(&path) {
            let before = arrived(path.client());
            let mut client = tcp::connect(&path, address);
            let (mut server, _) = listener.accept().unwrap();
            let mut received = Vec::new();
            thread::scope(|scope| {
                scope.spawn(|| server.write_all(&sent).map(|()| drop(server)).unwrap());
                client.read_to_end(&mut received).unwrap();
            });
            assert!(received == sent, "{address}: the received data differs");
            let segments = (arrived(path.client()) - before) as usize;
            let least = LENGTH / 1500;
            assert_eq!(
                segments >= least,
                !offload,
                "{address}: {segments} of {least}"
            );
        }
        for name in ["InErrs", "InCsumErrors"] {
            let errors = path.client().run(|| kernel::counter("Tcp", name));
            assert_eq!(errors.unwrap(), 0, "{name}");
        }
        assert_eq!(path.counters().up.packets + path.counters().down.packets, 0);
        path.close().unwrap();
    }
}

/// Returns the lengths of the reads of one segmented send, for a reader that can take several
/// datagrams at once.
fn reads(path: &Path, joins: bool) -> Vec<Vec<usize>> {
    let ends = addresses(path.client(), 0)
        .into_iter()
        .zip(addresses(path.server(), 0));
    let of_pair = |(client, server)| {
        let open = |side: &Namespace, address| side.run(|| UdpSocket::bind(address));
        let client = open(path.client(), client).unwrap().unwrap();
        let server = open(path.server(), server).unwrap().unwrap();
        server
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        if joins {
            kernel::join(&server);
        }
        kernel::segment(&client, SEGMENT);
        let bytes = vec![9; SEGMENT as usize * SEGMENTS];
        client
            .send_to(&bytes, server.local_addr().unwrap())
            .unwrap();
        let mut buffer = vec![0; 1 << 16];
        let mut lengths = Vec::new();
        while lengths.iter().sum::<usize>() < bytes.len() {
            lengths.push(server.recv(&mut buffer).unwrap());
        }
        lengths
    };
    ends.map(of_pair).collect()
}

#[test]
fn a_segmented_send_crosses_whole_with_offload_and_cut_without() {
    let whole = vec![SEGMENT as usize * SEGMENTS];
    let cut = vec![SEGMENT as usize; SEGMENTS];
    for (offload, packets) in [(true, 1), (false, SEGMENTS)] {
        let path = bare(offload);
        for joins in [true, false] {
            let before = arrived(path.server());
            let expected = if offload && joins { &whole } else { &cut };
            let came = reads(&path, joins);
            assert_eq!(
                came,
                [expected.clone(), expected.clone()],
                "offload {offload}, joins {joins}"
            );
            let crossed = (arrived(path.server()) - before) as usize;
            // Neighbours may also look up each other's addresses meanwhile.
            let expected = 2 * packets..2 * packets + 4;
            assert!(
                expected.contains(&crossed),
                "offload {offload}, joins {joins}: {crossed}"
            );
        }
        for name in ["InErrors", "InCsumErrors"] {
            let errors = path.server().run(|| kernel::counter("Udp", name));
            assert_eq!(errors.unwrap(), 0, "{name}");
        }
    }
}

#[test]
fn both_ends_have_the_requested_offloads() {
    const TCP_SEGMENTATION: u32 = 0x1e;
    const SEGMENTATION: u32 = 0x23;
    const RECEIVE: u32 = 0x2b;
    for offload in [true, false] {
        let path = bare(offload);
        for side in [path.client(), path.server()] {
            for command in [TCP_SEGMENTATION, SEGMENTATION] {
                let does = side.run(|| kernel::does(command)).unwrap();
                assert_eq!(does, offload, "{command:#x}");
            }
            // A veth pair has it off by default, since packets that cross whole need not be joined.
            assert!(offload || !side.run(|| kernel::does(RECEIVE)).unwrap());
        }
    }
}

#[test]
fn the_mtu_is_that_of_both_ends() {
    let path = Path::builder().bare().mtu(9000).build().unwrap();
    let [(listener, address), _] = tcp::listen(&path).try_into().unwrap();
    let client = tcp::connect(&path, address);
    let (server, _) = listener.accept().unwrap();
    for end in [client, server] {
        // IP, TCP, and the time stamps that Linux adds (RFC 7323).
        assert_eq!(kernel::tcp_info(&end).tcpi_snd_mss, 9000 - 20 - 20 - 12);
    }
}

#[test]
fn each_side_has_its_own_congestion_control() {
    let path = bare(true);
    let controls = |side: &Namespace| {
        let file = "/proc/sys/net/ipv4/tcp_congestion_control";
        let read = || std::fs::read_to_string(file).unwrap();
        side.run(read).unwrap().trim().to_owned()
    };
    let host = controls(path.server());
    // Every namespace can use Reno.
    path.client()
        .sysctl("net.ipv4.tcp_congestion_control", "reno")
        .unwrap();
    assert_eq!(
        (controls(path.client()), controls(path.server())),
        ("reno".into(), host)
    );
    let (listener, address) = tcp::listen(&path).remove(0);
    let mut client: TcpStream = tcp::connect(&path, address);
    client.write_all(b"x").unwrap();
    listener.accept().unwrap().0.read_exact(&mut [0]).unwrap();
    assert_eq!(kernel::congestion_control(&client), "reno");
}
