//! Wireshark reads the written captures, and accepts the rewritten checksums.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::process::Command;

use roundtrip_wire::packet::{
    Ecn, ICMP, IpHeader, Packet, PacketMut, TCP, UDP, compose, reset, too_big,
};
use roundtrip_wire::pcapng::{
    Block, ByteOrder, Captured, Interface, LinkType, PacketDirection, PcapngReader, PcapngWriter,
    Section, Statistics,
};

use crate::skip;

const TIME: u64 = 1_700_000_000_123_456_789;
/// SYN with MSS, SACK permitted, timestamps and fast open; a payload of odd length.
const SYN: &[u8] = b"\x9c\x40\x01\xbb\0\0\x03\xe8\0\0\0\0\xa0\xc2\xff\xff\0\0\0\0\
    \x02\x04\x05\xb4\x04\x02\x08\x0a\0\0\0\x01\0\0\0\0\x22\x02\x01\x01early";
const QUERY: &[u8] = b"\x9c\x40\x00\x07\0\x0d\xff\xffquery";

/// What tshark prints of each packet, or nothing if it is missing.
fn tshark(file: &Path, fields: &[&str]) -> Option<Vec<Vec<String>>> {
    let mut command = Command::new("tshark");
    command.arg("-n").arg("-r").arg(file);
    for protocol in ["ip", "tcp", "udp"] {
        command.args(["-o", &format!("{protocol}.check_checksum:TRUE")]);
    }
    command.args(["-T", "fields", "-E", "separator=/t", "-E", "aggregator=|"]);
    for field in fields {
        command.args(["-e", field]);
    }
    // It reads and writes settings in the home directory.
    let output = command.env("HOME", file.parent()?).output().ok()?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "tshark: {complaint}");
    assert!(!complaint.contains("damaged"), "tshark: {complaint}");
    let text = String::from_utf8(output.stdout).unwrap();
    let line = |line: &str| line.split('\t').map(str::to_owned).collect();
    Some(text.lines().map(line).collect())
}

/// A file in a separate directory, which is removed with it.
struct Scratch(std::path::PathBuf);

impl Scratch {
    fn new(test: &str) -> Self {
        let name = format!("roundtrip-wire-{test}-{}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        fs::create_dir_all(&directory).unwrap();
        Self(directory)
    }

    fn file(&self, bytes: &[u8]) -> std::path::PathBuf {
        let path = self.0.join("capture.pcapng");
        fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn capture(order: ByteOrder, packets: &[Vec<u8>]) -> Vec<u8> {
    let section = Section {
        application: Some("roundtrip".into()),
        comments: vec!["a lab run".into()],
        ..Section::default()
    };
    let mut writer = PcapngWriter::in_order(order, &section).unwrap();
    let interface = Interface {
        link: LinkType::RAW,
        snap_length: 0,
        name: Some("path0".into()),
        description: Some("the emulated path".into()),
        comments: vec![],
    };
    let interface = writer.interface(&interface).unwrap();
    for (number, bytes) in packets.iter().enumerate() {
        let inbound = number % 2 == 1;
        let direction = if inbound {
            PacketDirection::Inbound
        } else {
            PacketDirection::Outbound
        };
        let packet = Captured {
            interface,
            link: LinkType::RAW,
            time: Some(TIME + number as u64),
            original_length: bytes.len() as u32,
            data: bytes.into(),
            direction: Some(direction),
            comments: vec![format!("packet {number}").into(), "seen".into()],
        };
        writer.packet(&packet).unwrap();
    }
    let statistics = Statistics {
        interface,
        time: Some(TIME + 9),
        received: Some(packets.len() as u64),
        dropped: Some(0),
        comments: vec![],
    };
    writer.statistics(&statistics).unwrap();
    writer.take()
}

/// Rewritten packets and answers, of both versions.
fn rewritten() -> Vec<Vec<u8>> {
    let pairs: [(IpAddr, IpAddr, IpAddr); 2] = [
        (
            Ipv4Addr::new(192, 0, 2, 1).into(),
            Ipv4Addr::new(198, 51, 100, 7).into(),
            Ipv4Addr::new(203, 0, 113, 1).into(),
        ),
        (
            Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into(),
            Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 7).into(),
            Ipv6Addr::new(0x2001, 0xdb8, 2, 0, 0, 0, 0, 1).into(),
        ),
    ];
    let mut packets = Vec::new();
    for (us, them, nat) in pairs {
        for (protocol, transport) in [(TCP, SYN), (UDP, QUERY)] {
            let mut bytes = compose(&IpHeader::new(us, them, protocol), transport).unwrap();
            let mut change = PacketMut::parse(&mut bytes).unwrap();
            assert!(change.set_source(nat) && change.set_source_port(61_001));
            change.set_ecn(Ecn::CongestionExperienced);
            change.set_hop_limit(9);
            change.blank_options(|option| option.bytes.first() == Some(&34));
            let _ = change.set_maximum_segment_size(1200);
            packets.push(bytes.clone());
            let packet = Packet::parse(&bytes).unwrap();
            packets.extend(reset(&packet));
            packets.extend(too_big(&packet, them, 1280));
        }
    }
    packets
}

#[test]
fn it_reads_times_comments_and_interfaces() {
    let scratch = Scratch::new("fields");
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let packets = &rewritten()[..2];
        let file = scratch.file(&capture(order, packets));
        let fields = [
            "frame.time_epoch",
            "frame.comment",
            "frame.interface_name",
            "frame.interface_description",
            "frame.packet_flags_direction",
            "frame.len",
        ];
        let Some(read) = tshark(&file, &fields) else {
            return skip::lacking("it_reads_times_comments_and_interfaces", "tshark");
        };
        assert_eq!(read.len(), 2);
        for (number, (line, packet)) in read.iter().zip(packets).enumerate() {
            let time = TIME + number as u64;
            let (seconds, rest) = (time / 1_000_000_000, time % 1_000_000_000);
            assert_eq!(line[0], format!("{seconds}.{rest:09}"));
            assert_eq!(line[1], format!("packet {number}|seen"));
            assert_eq!(line[2..4], ["path0", "the emulated path"]);
            let direction = u32::from_str_radix(line[4].trim_start_matches("0x"), 16);
            assert_eq!(direction, Ok(2 - number as u32));
            assert_eq!(line[5], packet.len().to_string());
        }
    }
}

#[test]
fn it_finds_rewritten_checksums_right() {
    let scratch = Scratch::new("checksums");
    let packets = rewritten();
    let file = scratch.file(&capture(ByteOrder::Little, &packets));
    let fields = [
        "ip.checksum.status",
        "tcp.checksum.status",
        "udp.checksum.status",
        "icmp.checksum.status",
        "icmpv6.checksum.status",
        "tcp.options.mss_val",
    ];
    let Some(read) = tshark(&file, &fields) else {
        return skip::lacking("it_finds_rewritten_checksums_right", "tshark");
    };
    assert_eq!(read.len(), packets.len());
    for (line, bytes) in read.iter().zip(&packets) {
        let packet = Packet::parse(bytes).unwrap();
        // The values of quoted packets follow the outer packet's.
        let good = |column: usize, expected: bool| {
            let first = line[column].split('|').next().unwrap_or_default();
            assert_eq!(first == "1", expected, "column {column}: {line:?}");
        };
        let is_icmp = packet.icmp().is_some();
        good(0, packet.source().is_ipv4());
        good(3, packet.protocol() == ICMP);
        good(4, is_icmp && packet.source().is_ipv6());
        if !is_icmp {
            good(1, packet.tcp().is_some());
            good(2, packet.udp().is_some());
        }
        let has_size = packet
            .tcp()
            .is_some_and(|tcp| tcp.options().next().is_some());
        assert!(!has_size || line[5] == "1200", "{line:?}");
    }
}

#[test]
fn capinfos_finds_nothing_wrong() {
    let scratch = Scratch::new("capinfos");
    let packets = rewritten();
    let file = scratch.file(&capture(ByteOrder::Little, &packets));
    let output = Command::new("capinfos")
        .env("HOME", &scratch.0)
        .arg("-M")
        .arg(&file)
        .output();
    let Ok(output) = output else {
        return skip::lacking("capinfos_finds_nothing_wrong", "capinfos");
    };
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{output:?}"
    );
    for expected in [
        "pcapng",
        "nanoseconds (9)",
        "roundtrip",
        "a lab run",
        "path0",
        &format!("Number of packets = {}", packets.len()),
    ] {
        assert!(
            text.contains(expected),
            "'{expected}' is missing in:\n{text}"
        );
    }
}

#[test]
fn what_it_writes_is_read() {
    let scratch = Scratch::new("editcap");
    let packets = rewritten();
    let file = scratch.file(&capture(ByteOrder::Big, &packets));
    for kind in ["pcapng", "nsecpcap", "pcap"] {
        let to = scratch.0.join(kind);
        let mut command = Command::new("editcap");
        command
            .env("HOME", &scratch.0)
            .args(["-F", kind])
            .arg(&file)
            .arg(&to);
        let Ok(output) = command.output() else {
            return skip::lacking("what_it_writes_is_read", "editcap");
        };
        assert!(output.status.success(), "{output:?}");
        let bytes = fs::read(&to).unwrap();
        let read = read(&bytes);
        let unit = if kind == "pcap" { 1000 } else { 1 };
        assert_eq!(read.len(), packets.len(), "{kind}");
        for (number, (packet, bytes)) in read.iter().zip(&packets).enumerate() {
            let time = (TIME + number as u64) / unit * unit;
            assert_eq!(packet.time, Some(time), "{kind}");
            assert_eq!((packet.link, &*packet.data), (LinkType::RAW, &bytes[..]));
            let comments = if kind == "pcapng" { 2 } else { 0 };
            assert_eq!(packet.comments.len(), comments, "{kind}");
        }
    }
}

fn read(bytes: &[u8]) -> Vec<Captured<'_>> {
    if let Ok(packets) = roundtrip_wire::pcap::PcapReader::new(bytes) {
        return packets.map(Result::unwrap).collect();
    }
    let packet = |block| match block {
        Block::Packet(packet) => Some(packet),
        _ => None,
    };
    PcapngReader::new(bytes)
        .map(Result::unwrap)
        .filter_map(packet)
        .collect()
}
