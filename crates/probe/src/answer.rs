//! Reads the announcements in a response's headers into its facts.

use roundtrip_model::HttpFacts;
use roundtrip_wire::server_timing;

/// Reads `Location`, `Server-Timing` and `Alt-Svc`. Returns the value of `Alt-Svc`.
pub(crate) fn read(facts: &mut HttpFacts) -> Option<Vec<u8>> {
    if (300..400).contains(&facts.status) && facts.status != 304 {
        facts.redirect = facts
            .header("location")
            .map(|l| String::from_utf8_lossy(l).into_owned());
    }
    facts.server_timing = facts
        .headers
        .iter()
        .filter(|(n, _)| n.eq_ignore_ascii_case("server-timing"))
        .flat_map(|(_, v)| server_timing::parse(v))
        .map(|m| {
            let took = m.duration();
            (m.name, took, m.description)
        })
        .collect();
    let value = facts.header("alt-svc").map(<[u8]>::to_vec)?;
    facts.alt_svc = Some(String::from_utf8_lossy(&value).into_owned());
    Some(value)
}
