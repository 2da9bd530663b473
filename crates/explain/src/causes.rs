//! The table of causes, by family. A new cause is an entry in its family's file; a new family is a
//! line here.

mod client;
mod connect;
mod detour;
mod early_data;
mod fast_open;
mod greeting;
mod http;
mod kept;
mod loss;
mod nagle;
mod name;
mod path;
mod quic;
mod tickets;
mod tls;
mod transfer;
mod uplink;
mod upload;

use crate::{Cause, CauseFamily};

pub(crate) use http::{least_lateness, may_be_farther};

/// Causes are evaluated in this order: if two could claim the same time, the more specific one
/// comes first.
pub const FAMILIES: &[CauseFamily] = &[
    detour::FAMILY,
    name::FAMILY,
    connect::FAMILY,
    fast_open::FAMILY,
    early_data::FAMILY,
    tickets::FAMILY,
    greeting::FAMILY,
    tls::FAMILY,
    quic::FAMILY,
    client::FAMILY,
    kept::FAMILY,
    uplink::FAMILY,
    upload::FAMILY,
    nagle::FAMILY,
    http::FAMILY,
    loss::FAMILY,
    transfer::FAMILY,
    path::FAMILY,
];

pub fn all() -> impl Iterator<Item = &'static Cause> {
    FAMILIES.iter().flat_map(|family| family.causes)
}

pub fn by_id(id: &str) -> Option<&'static Cause> {
    all().find(|cause| cause.id == id)
}

#[cfg(test)]
mod tests {
    use super::all;

    #[test]
    fn ids_are_unique_kebab_case_and_every_entry_is_complete() {
        let mut seen = std::collections::HashSet::new();
        for cause in all() {
            assert!(seen.insert(cause.id), "{} stands twice", cause.id);
            assert!(
                cause.id.split('-').all(|w| !w.is_empty()
                    && w.chars()
                        .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())),
                "{}",
                cause.id
            );
            for text in [
                cause.name,
                cause.shows,
                cause.cost,
                cause.remedy,
                cause.source,
            ] {
                assert!(
                    !text.is_empty() && !text.contains('\n'),
                    "{}: {text:?}",
                    cause.id
                );
            }
        }
    }
}
