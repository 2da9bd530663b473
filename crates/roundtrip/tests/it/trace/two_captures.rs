//! Two captures of the same connections, made at both ends.

use std::fs;
use std::path::{Path, PathBuf};

use roundtrip_wire::pcapng::{Block, PcapngReader, PcapngWriter, Section};
use serde_json::Value;

use crate::trace::{record, recorded, results, roundtrip, text};

/// The packets of each end of a recording in a separate file; the server's clock is 3.7 s behind.
/// Also returns which frames, in their own file, were lost on the way.
pub(super) fn torn(file: &Path, folder: &Path) -> ([PathBuf; 2], [Vec<u64>; 2]) {
    let paths = ["client", "server"].map(|name| folder.join(name).with_extension("pcapng"));
    let mut lost: [Vec<u64>; 2] = Default::default();
    let bytes = fs::read(file).unwrap();
    for (end, path) in paths.iter().enumerate() {
        let mut writer = PcapngWriter::new(&Section::default()).unwrap();
        let mut frame = 0;
        for block in PcapngReader::new(&bytes) {
            match block.unwrap() {
                Block::Interface(interface) => drop(writer.interface(&interface).unwrap()),
                Block::Packet(mut packet) if packet.interface as usize == end => {
                    frame += 1;
                    if packet
                        .comments
                        .iter()
                        .any(|comment| comment.contains("lost"))
                    {
                        lost[end].push(frame);
                    }
                    let behind = 3_700_000_000 * end as u64;
                    packet.time = packet.time.map(|at| at - behind);
                    packet.comments.clear();
                    writer.packet(&packet).unwrap();
                }
                _ => {}
            }
        }
        fs::write(path, writer.take()).unwrap();
    }
    (paths, lost)
}

#[test]
fn two_captures_tell_where_packets_were_lost() {
    let folder = tempfile::tempdir().unwrap();
    let options = [
        // Lookups show that both captures had begun before the SYN.
        "--dns",
        "--loss",
        "up:syn",
        "--loss",
        "down:nth:4+9",
        "--origin",
        "think=100ms",
    ];
    let asked = ["-q4", "http://server.test/bytes/60000"];
    let file = record(folder.path(), &options, &asked);
    let ([client, server], lost) = torn(&file, folder.path());
    assert_eq!(lost[0].len(), 1);
    assert_eq!(lost[1].len(), 2);
    let one = results(&client, None);
    // In either order: the program finds out which is nearer to the client.
    for files in [[&client, &server], [&server, &client]] {
        let files = files.map(|file| file.to_str().unwrap());
        let output = roundtrip(&["trace", "--json", files[0], files[1]]);
        assert!(output.status.success(), "{output:?}");
        let said = text(&output.stderr);
        assert!(said.contains("client.pcapng was recorded nearer"), "{said}");
        let (_, behind) = said.split_once("server.pcapng is ").unwrap();
        let (behind, _) = behind.split_once(" ms behind").unwrap();
        let behind: f64 = behind.parse().unwrap();
        // It is known to half a round trip.
        assert!((behind - 3700.0).abs() < 20.0, "{said}");
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(document["results"].as_array().unwrap().len(), 1);
        let result = &document["results"][0];
        assert_eq!(result["round_trips"], one[0]["round_trips"]);
        let located = &result["connection"]["located"];
        for (side, lost) in ["from_client", "from_server"].iter().zip(&lost) {
            let frames = serde_json::to_value(lost).unwrap();
            assert_eq!(located[side]["lost_frames"], frames, "{located:#}");
        }
        let between = located["between_ms"].as_f64().unwrap();
        assert!((39.0..60.0).contains(&between), "{between}");
        let server = located["server_ms"].as_f64().unwrap();
        assert!(server > 99.0, "{server}");
        let unknown = result["connection"]["undecidable"].to_string();
        assert!(!unknown.contains("a capture at"), "{unknown}");
    }
    let client = client.to_str().unwrap();
    let ladder = ["trace", client, server.to_str().unwrap(), "--flow", "1"];
    let shown = text(&roundtrip(&ladder).stdout);
    assert!(shown.contains("SYN  lost on the way"), "{shown}");
    // Two captures of the same end: there is no path between them.
    let output = roundtrip(&["trace", client, client]);
    assert!(output.status.success(), "{output:?}");
    // Two captures with nothing in common.
    let other = recorded(folder.path());
    let output = roundtrip(&["trace", client, other.to_str().unwrap()]);
    assert!(!output.status.success());
    assert!(text(&output.stderr).contains("too few TCP packets"));
    // A pipe cannot be read twice.
    let output = roundtrip(&["trace", client, "-"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

/// The client's address and port, as a translator (NAT) would show them to the server.
fn translated(file: &Path) {
    let bytes = fs::read(file).unwrap();
    let mut writer = PcapngWriter::new(&Section::default()).unwrap();
    for block in PcapngReader::new(&bytes) {
        match block.unwrap() {
            Block::Interface(interface) => drop(writer.interface(&interface).unwrap()),
            Block::Packet(mut packet) => {
                let data = packet.data.to_mut();
                // TCP over IPv4, from or to the server's port.
                if data[0] >> 4 == 4 && data[9] == 6 {
                    let head = usize::from(data[0] & 15) * 4;
                    let from_server = data[head..head + 2] == 80_u16.to_be_bytes();
                    let (address, port) = if from_server { (16, 2) } else { (12, 0) };
                    data[address..address + 4].copy_from_slice(&[203, 0, 113, 9]);
                    data[head + port..head + port + 2].copy_from_slice(&61_000_u16.to_be_bytes());
                }
                writer.packet(&packet).unwrap();
            }
            _ => {}
        }
    }
    fs::write(file, writer.take()).unwrap();
}

#[test]
fn a_connection_whose_addresses_are_translated_between_two_captures_is_one() {
    let folder = tempfile::tempdir().unwrap();
    let options = ["--loss", "down:nth:4", "--origin", "think=50ms"];
    let asked = ["-q4", "http://server.test/bytes/20000"];
    let file = record(folder.path(), &options, &asked);
    let ([client, server], lost) = torn(&file, folder.path());
    translated(&server);
    let files = [&client, &server].map(|file| file.to_str().unwrap());
    let output = roundtrip(&["trace", "--json", files[0], files[1]]);
    assert!(output.status.success(), "{output:?}");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["results"].as_array().unwrap().len(), 1);
    let connection = &document["results"][0]["connection"];
    let frames = serde_json::to_value(&lost[1]).unwrap();
    assert_eq!(connection["located"]["from_server"]["lost_frames"], frames);
    let evidence = connection["vantage"]["evidence"].to_string();
    assert!(evidence.contains("203.0.113.9:61000"), "{evidence}");
}
