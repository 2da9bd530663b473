//! Finds the servers for a query in IANA's registries (RFC 9224), which are embedded, renewed and
//! overlaid.
//!
//! IANA publishes five files: which servers know which top-level domains, which blocks of
//! addresses, which ranges of AS numbers, and which tags at the end of handles (RFC 8521). Copies
//! are embedded, so that the first lookup of the first run waits for no download;
//! `crates/rdap/bootstrap/README.md` says how old they are. [`Bootstrap::renew`] takes a newer copy
//! if it is complete, and [`Bootstrap::replace`] takes any complete copy. Each file is parsed when
//! it is first needed: a lookup of an address does not parse the names.
//!
//! [`Bootstrap::servers`] finds the longest matching entry and returns its base URLs, https first,
//! otherwise in IANA's order. If there is none, [`NoServerError`] gives the reason and the remedy.
//! Registries of countries need not be listed: the overlay, off by default, contains servers that
//! are known to exist, each with its source.
//!
//! Parsing is strict about a file and lenient about its parts: a file that is truncated or has no
//! usable entry is refused; unknown members are ignored; an invalid entry is skipped and reported
//! ([`Bootstrap::faults`]).
//!
//! Other modules fetch and store newer copies, because that needs the client's connections and
//! memory.

mod entries;
mod error;
mod file;
mod registry;
mod table;

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::OnceLock;

use roundtrip_model::{Target, TargetError};

pub use error::{BootstrapError, NoServerError};
pub use registry::Registry;

use crate::query::Key;
use table::{Found, Table};

/// The five registries and the overlay, ready for queries.
#[derive(Debug, Default)]
pub struct Bootstrap {
    tables: [OnceLock<Table>; Registry::COUNT],
    overlay: OnceLock<Table>,
    uses_overlay: bool,
}

/// The servers for a query, and the entry that lists them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Servers {
    bases: Vec<Target>,
    entry: String,
    registry: Registry,
    overlaid: bool,
}

impl Bootstrap {
    /// The copies that are built into the program.
    pub fn embedded() -> Self {
        Self::default()
    }

    /// Replaces the copy of a registry. Changes nothing unless the new copy is complete and valid.
    pub fn replace(&mut self, registry: Registry, json: &[u8]) -> Result<(), BootstrapError> {
        let table = Table::read(registry, json)?;
        self.put(registry, table);
        Ok(())
    }

    /// Like [`Self::replace`], but accepts only a copy that was published later than the current
    /// one. Returns whether it did.
    pub fn renew(&mut self, registry: Registry, json: &[u8]) -> Result<bool, BootstrapError> {
        let table = Table::read(registry, json)?;
        // RFC 3339 in UTC, as IANA writes it, sorts as text. RFC 9224 §10.2.
        let is_newer = table.publication() > self.publication(registry);
        if is_newer {
            self.put(registry, table);
        }
        Ok(is_newer)
    }

    /// Like [`Self::replace`], with the content of a file.
    pub fn load(&mut self, registry: Registry, path: &Path) -> Result<(), BootstrapError> {
        let unread = |source| BootstrapError::Unread {
            path: path.display().to_string(),
            source,
        };
        let mut json = Vec::new();
        let file = File::open(path).map_err(unread)?;
        let most = file::MAX_FILE as u64 + 1;
        file.take(most).read_to_end(&mut json).map_err(unread)?;
        self.replace(registry, &json)
    }

    /// Sets whether servers that IANA does not list are offered.
    pub fn overlay(&mut self, on: bool) {
        self.uses_overlay = on;
    }

    /// The servers to ask, in this order.
    pub fn servers(&self, key: &Key<'_>) -> Result<Servers, NoServerError> {
        let registry = Registry::from_key(key);
        let table = self.table(registry);
        let listed = table.find(key);
        let overlaid = match key {
            Key::Domain(_) => self.overlay_table().find(key),
            _ => None,
        };
        // The longer match is more specific, in IANA's list or in the overlay: uk.com is not com.
        let is_closer = overlaid.as_ref().is_some_and(|o| {
            let length = |found: &Found<'_>| found.entry.len();
            listed.as_ref().is_none_or(|l| length(o) > length(l))
        });
        match (listed, overlaid) {
            (_, Some(found)) if is_closer && self.uses_overlay => {
                Servers::from_found(found, registry, true)
            }
            (Some(found), _) => Servers::from_found(found, registry, false),
            (None, unlisted) => Err(NoServerError::Unlisted {
                asked: error::asked(key),
                why: error::set_aside(key).unwrap_or_default(),
                registry,
                publication: table.publication().to_owned(),
                advice: error::advice(unlisted.is_some()),
            }),
        }
    }

    /// When IANA published the current copy, as written in it; empty if the copy has no date.
    pub fn publication(&self, registry: Registry) -> &str {
        self.table(registry).publication()
    }

    /// The skipped parts of the current copy, with the reasons; at most a few dozen lines.
    pub fn faults(&self, registry: Registry) -> &[String] {
        self.table(registry).faults()
    }

    fn put(&mut self, registry: Registry, table: Table) {
        if let Some(place) = self.tables.get_mut(registry.index()) {
            *place = OnceLock::from(table);
        }
    }

    fn table(&self, registry: Registry) -> &Table {
        static NOTHING: OnceLock<Table> = OnceLock::new();
        let place = self.tables.get(registry.index()).unwrap_or(&NOTHING);
        place.get_or_init(|| Table::embedded(registry))
    }

    fn overlay_table(&self) -> &Table {
        self.overlay.get_or_init(Table::overlay)
    }
}

impl Servers {
    fn from_found(
        found: Found<'_>,
        registry: Registry,
        overlaid: bool,
    ) -> Result<Self, NoServerError> {
        let parse = |url: &String| Target::parse(url).ok();
        let bases: Vec<Target> = found.urls.iter().filter_map(parse).collect();
        if bases.is_empty() {
            return Err(NoServerError::Unusable {
                entry: found.entry,
                registry,
                urls: found.urls.join(" "),
            });
        }
        Ok(Self {
            bases,
            entry: found.entry,
            registry,
            overlaid,
        })
    }

    /// Base URLs, each with its last slash: at least one, https first, otherwise in IANA's order.
    pub fn bases(&self) -> &[Target] {
        &self.bases
    }

    /// The URLs that ask for `path` (see [`crate::query::Query::path`]), in the order in which to
    /// try them.
    pub fn targets(&self, path: &str) -> impl Iterator<Item = Result<Target, TargetError>> {
        self.bases.iter().map(move |base| base.join(path))
    }

    /// The matching entry as the registry writes it: `com`, `193.0.0.0/8`, `1877-1901`, `ARIN`.
    pub fn entry(&self) -> &str {
        &self.entry
    }

    pub fn registry(&self) -> Registry {
        self.registry
    }

    /// Whether the entry comes from the overlay and not from IANA.
    #[cfg(test)]
    pub fn is_overlaid(&self) -> bool {
        self.overlaid
    }
}

#[cfg(test)]
mod tests;
