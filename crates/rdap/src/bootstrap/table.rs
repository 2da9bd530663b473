//! One registry, ready for queries: entries that lead to services, and the parts that were skipped
//! during parsing.

use std::borrow::Cow;

use super::entries::Entries;
use super::file::{self, Faults, Text};
use super::{BootstrapError, Registry};
use crate::query::Key;

const OVERLAY: &[u8] = include_bytes!("../../bootstrap/overlay.json");
/// The largest number of URLs. No registry needs more, and more would let a hostile file use up
/// memory.
const MAX_URLS: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Table {
    publication: String,
    services: Vec<Vec<String>>,
    entries: Entries,
    faults: Vec<String>,
}

/// The longest matching entry.
#[derive(Debug)]
pub(super) struct Found<'a> {
    pub(super) entry: String,
    pub(super) urls: &'a [String],
}

impl Table {
    pub(super) fn read(registry: Registry, json: &[u8]) -> Result<Self, BootstrapError> {
        let has_contacts = registry == Registry::ObjectTags;
        Self::build(registry, json, has_contacts, |word| {
            Cow::Owned(word.into_owned())
        })
    }

    /// The embedded copy. Tests ensure that it can be parsed; if it could not, the table would be
    /// empty and report that.
    pub(super) fn embedded(registry: Registry) -> Self {
        let has_contacts = registry == Registry::ObjectTags;
        Self::built_in(registry, registry.embedded(), has_contacts)
    }

    /// The overlay. It has the format of object tags, with the sources of each entry in place of
    /// the contacts.
    pub(super) fn overlay() -> Self {
        Self::built_in(Registry::Dns, OVERLAY, true)
    }

    fn built_in(registry: Registry, json: &'static [u8], has_contacts: bool) -> Self {
        let table = Self::build(registry, json, has_contacts, |word| word);
        table.unwrap_or_else(|error| Self {
            faults: vec![error.to_string()],
            ..Self::default()
        })
    }

    fn build<'a>(
        registry: Registry,
        json: &'a [u8],
        has_contacts: bool,
        keep: impl Fn(Cow<'a, str>) -> Cow<'static, str>,
    ) -> Result<Self, BootstrapError> {
        let file = file::read(registry, json)?;
        let mut building = Building {
            entries: Entries::new(registry),
            services: Vec::with_capacity(file.services.len()),
            faults: file.faults,
        };
        for (index, lists) in file.services.into_iter().enumerate() {
            building.add(index, lists, has_contacts, &keep);
        }
        building.entries.finish(&mut building.faults);
        let table = Self {
            publication: file.publication.into_owned(),
            services: building.services,
            entries: building.entries,
            faults: building.faults.into_lines(),
        };
        if table.entries.is_empty() {
            let faults = table.faults;
            return Err(BootstrapError::Empty { registry, faults });
        }
        Ok(table)
    }

    pub(super) fn publication(&self) -> &str {
        &self.publication
    }

    pub(super) fn faults(&self) -> &[String] {
        &self.faults
    }

    pub(super) fn find(&self, key: &Key<'_>) -> Option<Found<'_>> {
        let (entry, service) = self.entries.find(key)?;
        let urls = self.services.get(service as usize)?;
        Some(Found { entry, urls })
    }
}

struct Building {
    entries: Entries,
    services: Vec<Vec<String>>,
    faults: Faults,
}

impl Building {
    fn add<'a>(
        &mut self,
        index: usize,
        lists: Vec<Vec<Text<'a>>>,
        has_contacts: bool,
        keep: &impl Fn(Cow<'a, str>) -> Cow<'static, str>,
    ) {
        let mut lists = lists.into_iter().skip(usize::from(has_contacts));
        let (Some(entries), Some(urls)) = (lists.next(), lists.next()) else {
            self.faults
                .add(|| format!("service {index} has no list of entries and no list of URLs"));
            return;
        };
        let urls = self.usable(index, &urls);
        if urls.is_empty() {
            self.faults
                .add(|| format!("service {index} has no usable URL"));
            return;
        }
        let service = self.services.len() as u32;
        self.services.push(urls);
        for Text(entry) in entries {
            let shown: String = entry
                .chars()
                .take(64)
                .flat_map(char::escape_debug)
                .collect();
            if let Err(why) = self.entries.insert(entry, service, keep) {
                self.faults
                    .add(|| format!("service {index}: the entry '{shown}' {why}"));
            }
        }
    }

    /// The usable URLs: https before http (RFC 9224 §3), otherwise in order; each with its last
    /// slash.
    fn usable(&mut self, index: usize, urls: &[Text<'_>]) -> Vec<String> {
        let mut usable: Vec<String> = Vec::with_capacity(urls.len().min(MAX_URLS));
        for Text(url) in urls.iter().take(MAX_URLS) {
            let is_http = ["https://", "http://"]
                .iter()
                .any(|scheme| url.starts_with(scheme));
            if !is_http
                || url.len() > 2048
                || !url.bytes().all(|b| b.is_ascii_graphic() && b != b'@')
            {
                self.faults
                    .add(|| format!("service {index} has a URL that is not plain http or https"));
                continue;
            }
            let slash = if url.ends_with('/') { "" } else { "/" };
            usable.push(format!("{url}{slash}"));
        }
        usable.sort_by_key(|url| !url.starts_with("https://"));
        usable
    }
}
