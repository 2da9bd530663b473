//! Fuzzes captures of both kinds: what is read and written again reads the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use roundtrip_wire::pcap;
use roundtrip_wire::pcapng::{Block, PcapngReader, PcapngWriter, Section};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(packets) = pcap::PcapReader::new(bytes) {
        assert!(packets.count() <= bytes.len() / 16 + 1);
    }
    let blocks: Vec<_> = PcapngReader::new(bytes).flatten().collect();
    assert!(blocks.len() <= bytes.len() / 12);
    let mut writer = PcapngWriter::new(&Section::default()).expect("nothing in it");
    for block in &blocks {
        // Some cannot be written: a packet without a time, or of an interface of an earlier
        // section.
        let _ = match block {
            Block::Section(section) => PcapngWriter::new(section).map(|new| writer = new),
            Block::Interface(interface) => writer.interface(interface).map(drop),
            Block::Packet(packet) => writer.packet(packet),
            Block::Statistics(statistics) => writer.statistics(statistics),
            Block::Other { .. } => Ok(()),
        };
    }
    for block in PcapngReader::new(&writer.take()) {
        assert!(block.is_ok());
    }
});
