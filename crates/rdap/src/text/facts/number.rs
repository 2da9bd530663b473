//! Facts about networks and autonomous systems.

use roundtrip_report::terminal::Tone;

use super::{Block, Facts, Value};
use crate::answer::{Autnum, Network};

impl Facts {
    pub(super) fn network(&mut self, network: Network<'_>) {
        let range = match network.range() {
            Some((start, end)) if start == end => Some(start.to_string()),
            Some((start, end)) => Some(format!("{start} – {end}")),
            // A range that cannot be parsed is shown as sent.
            None => network
                .text("startAddress")
                .map(|start| format!("{start} – {}", network.text("endAddress").unwrap_or("?"))),
        };
        let range = range.map(|r| Value::new(r).tone(Tone::Strong));
        self.add(Block::Name, "Network", range);
        self.add(
            Block::Name,
            "CIDR",
            network.cidrs().into_iter().map(Value::new),
        );
        self.text(Block::Name, "Name", network.name());
        self.common(*network);
        self.text(Block::Name, "Type", network.kind());
        self.text(Block::Name, "Country", network.country());
        self.text(Block::Name, "Parent", network.parent_handle());
        self.events(*network);
        self.people(*network, &[]);
        self.remarks(*network);
    }

    pub(super) fn autnum(&mut self, autnum: Autnum<'_>) {
        let range = autnum.range().map(|(start, end)| numbers(start, end));
        let range = range.map(|r| Value::new(r).tone(Tone::Strong));
        self.add(Block::Name, "AS number", range);
        self.text(Block::Name, "Name", autnum.name());
        self.common(*autnum);
        self.text(Block::Name, "Type", autnum.kind());
        self.text(Block::Name, "Country", autnum.country());
        self.events(*autnum);
        self.people(*autnum, &[]);
        self.remarks(*autnum);
    }
}

/// A range of AS numbers, or a single one.
pub(in crate::text) fn numbers(start: u32, end: u32) -> String {
    if start == end {
        format!("AS{start}")
    } else {
        format!("AS{start} – AS{end}")
    }
}
