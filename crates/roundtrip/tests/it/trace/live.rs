//! Captures that are still being made, pipes, secrets that come late, and which of several
//! interfaces are written.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use roundtrip_wire::capture::{CaptureItem, CaptureReader};
use roundtrip_wire::pcapng::{Captured, Interface, LinkType, PcapngWriter, Section};
use serde_json::Value;

use crate::trace::keys::recorded_with_keys;
use crate::trace::{in_vain, record, recorded, results, roundtrip, text};

fn reading(arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_roundtrip"))
        .arg("trace")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// The packets that the client's end saw.
fn packets(file: &Path) -> Vec<Captured<'static>> {
    let mut reader = CaptureReader::new();
    reader.push(&fs::read(file).unwrap());
    let mut all = Vec::new();
    while let Some(item) = reader.item().unwrap() {
        if let CaptureItem::Packet(packet) = item
            && packet.interface == 0
        {
            all.push(Captured {
                data: packet.data.into_owned().into(),
                comments: Vec::new(),
                ..packet
            });
        }
    }
    all
}

/// A capture with these interfaces and packets.
fn written(links: &[LinkType], packets: &[Captured<'_>]) -> Vec<u8> {
    let mut writer = PcapngWriter::new(&Section::default()).unwrap();
    for link in links {
        let interface = Interface {
            link: *link,
            snap_length: 0,
            name: Some("wire".into()),
            description: None,
            comments: Vec::new(),
        };
        writer.interface(&interface).unwrap();
    }
    for packet in packets {
        writer.packet(packet).unwrap();
    }
    writer.take()
}

#[test]
fn a_connection_that_ended_leaves_though_nothing_follows_it() {
    let mut child = reading(&["--ndjson", "-"]);
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&in_vain(1)).unwrap();
    stdin.flush().unwrap();
    // The pipe stays open until the line is there.
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!(line["connection"]["number"], 1);
    drop(stdin);
    child.wait().unwrap();
}

#[test]
fn secrets_that_are_written_while_a_pipe_is_read_are_used() {
    let folder = tempfile::tempdir().unwrap();
    let probe = env!("CARGO_BIN_EXE_roundtrip");
    let url = "https://server.test/bytes/5000";
    let asked = [probe, "probe", "-q", "--strategy", "h2+tls1.3", url];
    let (file, keys) = recorded_with_keys(folder.path(), &asked);
    let later = folder.path().join("later.log");
    let words = ["--ndjson", "--interface", "0", "--keys"];
    let mut child = reading(&[&words[..], &[later.to_str().unwrap(), "-"]].concat());
    let mut stdin = child.stdin.take().unwrap();
    let bytes = fs::read(file).unwrap();
    // More than the program reads before it looks at the format.
    stdin.write_all(&bytes[..100]).unwrap();
    stdin.flush().unwrap();
    let secrets = fs::read(keys).unwrap();
    let (first, second) = secrets.split_at(secrets.len() / 2);
    fs::write(&later, first).unwrap();
    let mut more = File::options().append(true).open(&later).unwrap();
    more.write_all(second).unwrap();
    stdin.write_all(&bytes[100..]).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let line: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(line["connection"]["known"], "seen", "{line:#}");
    assert_eq!(line["url"], url);
}

#[test]
fn secrets_behind_their_packets_are_used() {
    let folder = tempfile::tempdir().unwrap();
    let probe = env!("CARGO_BIN_EXE_roundtrip");
    let url = "https://server.test/bytes/5000";
    let asked = [probe, "probe", "-q", "--strategy", "h1+tls1.3", url];
    let (file, keys) = recorded_with_keys(folder.path(), &asked);
    let mut writer = PcapngWriter::new(&Section::default()).unwrap();
    writer.take();
    writer.secrets(&fs::read(keys).unwrap()).unwrap();
    let mut bytes = fs::read(&file).unwrap();
    bytes.extend(writer.take());
    fs::write(&file, bytes).unwrap();
    let all = results(&file, None);
    assert_eq!(all.len(), 1);
    assert_eq!(all[0]["connection"]["known"], "seen", "{:#}", all[0]);
    // What is written has them as well, and two captures do.
    let from = file.to_str().unwrap();
    let ends = ["0", "1"].map(|end| {
        let cut = folder.path().join(end).with_extension("pcapng");
        let to = cut.to_str().unwrap().to_owned();
        let output = roundtrip(&["trace", from, "-q", "--interface", end, "--write", &to]);
        assert!(output.status.success(), "{output:?}");
        assert_eq!(results(&cut, None)[0]["connection"]["known"], "seen");
        to
    });
    let output = roundtrip(&["trace", "--json", &ends[0], &ends[1]]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["results"][0]["connection"]["known"], "seen");
    // A line was printed before they were known.
    let output = roundtrip(&["trace", "--ndjson", from]);
    assert!(text(&output.stderr).contains("keys after the packets"));
}

#[test]
fn interfaces_keep_their_link_layers_and_names_in_what_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let raw = packets(&recorded(folder.path()));
    let on_second = raw.iter().map(|packet| Captured {
        interface: 1,
        ..packet.clone()
    });
    // The same packets on the first interface, with the header of Ethernet.
    let on_first = raw.iter().map(|packet| Captured {
        interface: 0,
        link: LinkType(1),
        original_length: packet.original_length + 14,
        data: [&[2; 12][..], &[8, 0], &packet.data[..]].concat().into(),
        ..packet.clone()
    });
    let all: Vec<_> = on_second.chain(on_first).collect();
    let file = folder.path().join("both.pcapng");
    fs::write(&file, written(&[LinkType(1), LinkType::RAW], &all)).unwrap();
    let cut = folder.path().join("cut.pcapng");
    let (from, to) = (file.to_str().unwrap(), cut.to_str().unwrap());
    let output = roundtrip(&["trace", from, "-q", "--write", to]);
    assert!(output.status.success(), "{output:?}");
    for interface in ["0", "1"] {
        let output = roundtrip(&["trace", "--json", "--interface", interface, to]);
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        let count = document["results"].as_array().unwrap().len();
        assert_eq!(count, 1, "interface {interface}: {document:#}");
    }
    let names = fs::read(&cut).unwrap();
    assert!(names.windows(4).any(|four| four == b"wire"));
}

#[test]
fn a_named_pipe_is_a_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let file = recorded(folder.path());
    let pipe = folder.path().join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let name = pipe.to_str().unwrap();
    let cut = folder.path().join("cut.pcapng");
    for arguments in [
        &["trace", name, "--write", cut.to_str().unwrap()][..],
        &["trace", name, file.to_str().unwrap()],
    ] {
        let output = roundtrip(arguments);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(text(&output.stderr).contains("a pipe does not allow"));
    }
    let child = reading(&["--json", name]);
    fs::write(&pipe, fs::read(&file).unwrap()).unwrap();
    let output = child.wait_with_output().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["results"][0]["http"]["status"], 200);
}

#[test]
fn a_connection_without_exchanges_is_shown_if_it_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let url = "http://server.test/bytes/5000";
    let mut all = packets(&record(
        folder.path(),
        &["--dns", "--origin"],
        &["-q", "-4", url],
    ));
    // Of TCP, only what the client sent.
    all.retain(|packet| packet.data[0] >> 4 == 4 && packet.data[9] == 6);
    let client = all[0].data[12..16].to_vec();
    all.retain(|packet| packet.data[12..16] == client);
    let file = folder.path().join("half.pcapng");
    fs::write(&file, written(&[LinkType::RAW], &all)).unwrap();
    let file = file.to_str().unwrap();
    let output = roundtrip(&["trace", file, "--flow", "1"]);
    let shown = text(&output.stdout);
    assert!(shown.contains("Packets of connection 1"), "{shown}");
    assert!(shown.contains("a capture of both directions"), "{shown}");
}

#[test]
fn flags_that_mean_nothing_to_a_program_or_a_watch_are_refused() {
    for arguments in [
        &["trace", "--flow", "1", "--", "true"][..],
        &["trace", "--interface", "1", "--", "true"],
        &["trace", "--keys", "keys.log", "--", "true"],
        &["trace", "--watch", ":1", "--flow", "1"],
        &["trace", "--watch", ":1", "--fail-if", "ttfb > 1ms"],
        &["trace", "--watch", ":1", "--html", "page.html"],
    ] {
        let output = roundtrip(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
    }
}
