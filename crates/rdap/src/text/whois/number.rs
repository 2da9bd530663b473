//! Networks and autonomous systems, with the keys of the regional registries.

use super::Lines;
use crate::answer::{Autnum, Entity, Item, Network};

impl Lines {
    pub(super) fn network(&mut self, network: Network<'_>) {
        if let Some((start, end)) = network.range() {
            self.key("NetRange", &format!("{start} - {end}"));
        }
        self.key("CIDR", &network.cidrs().join(", "));
        self.text("NetName", network.name());
        self.text("NetHandle", network.handle());
        self.text("Parent", network.parent_handle());
        self.text("NetType", network.kind());
        self.text("Country", network.country());
        self.rest(*network);
    }

    pub(super) fn autnum(&mut self, autnum: Autnum<'_>) {
        match autnum.range() {
            Some((start, end)) if start == end => self.key("ASNumber", &start.to_string()),
            Some((start, end)) => self.key("ASNumber", &format!("{start} - {end}")),
            None => {}
        }
        self.text("ASName", autnum.name());
        self.text("ASHandle", autnum.handle());
        self.text("Country", autnum.country());
        self.rest(*autnum);
    }

    fn rest(&mut self, item: Item<'_>) {
        self.date("RegDate", item, "registration");
        self.date("Updated", item, "last changed");
        for status in item.status() {
            self.key("Status", status);
        }
        for remark in item.remarks() {
            remark
                .description()
                .flat_map(str::lines)
                .for_each(|line| self.key("Comment", line));
        }
        self.entities(item.entities(), 0);
    }

    /// Adds each entity as a separate block, followed by the entities in it.
    fn entities<'a>(&mut self, entities: impl Iterator<Item = Entity<'a>>, depth: usize) {
        for entity in entities {
            self.gap();
            self.person(entity, "");
            if depth < 3 {
                self.entities(entity.entities().collect::<Vec<_>>().into_iter(), depth + 1);
            }
        }
    }
}
