//! The embedded registries, made-up ones, and broken ones.

use std::net::IpAddr;

use proptest::prelude::*;

use super::*;
use crate::query::Query;

const SHORT: &[u8] = br#"{
  "version": "1.0", "publication": "2031-01-07T10:11:12Z", "surprise": {"a": [1]},
  "services": [
    [["example", "Sub.Example."], ["http://one.example/", "https://two.example/rdap", "https://three.example/"]],
    [["deep.sub.example"], ["https://deep.example/"]]
  ]
}"#;

fn servers(bootstrap: &Bootstrap, query: &str) -> Result<Servers, NoServerError> {
    let query = Query::parse(query, None).unwrap();
    bootstrap.servers(&query.key().unwrap())
}

fn entry(bootstrap: &Bootstrap, query: &str) -> String {
    let servers = servers(bootstrap, query).unwrap_or_else(|e| panic!("{query}: {e}"));
    servers.entry().to_owned()
}

fn bases(servers: &Servers) -> Vec<String> {
    servers.bases().iter().map(ToString::to_string).collect()
}

fn with(registry: Registry, services: &str) -> Result<Bootstrap, BootstrapError> {
    let mut bootstrap = Bootstrap::embedded();
    bootstrap.replace(
        registry,
        format!(r#"{{"services":[{services}]}}"#).as_bytes(),
    )?;
    Ok(bootstrap)
}

#[test]
fn the_embedded_registries_are_complete() {
    let bootstrap = Bootstrap::embedded();
    for registry in Registry::ALL {
        assert_eq!(bootstrap.faults(registry), [] as [String; 0], "{registry}");
        let publication = bootstrap.publication(registry);
        assert!(
            publication.len() == 20 && publication.ends_with('Z'),
            "{registry}: {publication}"
        );
        assert!(registry.url().ends_with(&registry.file_name()));
    }
    assert_eq!(bootstrap.overlay_table().faults(), [] as [String; 0]);
}

#[test]
fn the_embedded_registries_list_the_large_ones() {
    let bootstrap = Bootstrap::embedded();
    for (query, matched, base) in [
        ("example.com", "com", "https://rdap.verisign.com/com/v1/"),
        ("www.example.co.uk", "uk", "https://rdap.nominet.uk/uk/"),
        ("193.0.6.139", "193.0.0.0/8", "https://rdap.db.ripe.net/"),
        (
            "6.0.193.in-addr.arpa",
            "193.0.0.0/8",
            "https://rdap.db.ripe.net/",
        ),
        ("2001:200::1", "2001:200::/23", "https://rdap.apnic.net/"),
        ("2c00::/16", "2c00::/12", "https://rdap.afrinic.net/rdap/"),
        ("AS3333", "3154-3353", "https://rdap.db.ripe.net/"),
        ("AS2043", "2043", "https://rdap.db.ripe.net/"),
        ("entity:abc-arin", "ARIN", "https://rdap.arin.net/registry/"),
    ] {
        let servers = servers(&bootstrap, query).unwrap_or_else(|e| panic!("{query}: {e}"));
        assert_eq!(
            (servers.entry(), &*bases(&servers)[0]),
            (matched, base),
            "{query}"
        );
    }
}

#[test]
fn the_longest_match_wins_and_https_comes_first() {
    let mut bootstrap = Bootstrap::embedded();
    bootstrap.replace(Registry::Dns, SHORT).unwrap();
    assert_eq!(bootstrap.publication(Registry::Dns), "2031-01-07T10:11:12Z");
    for (query, matched) in [
        ("example", "example"),
        ("a.b.example", "example"),
        ("sub.example", "sub.example"),
        ("a.deep.sub.example", "deep.sub.example"),
        ("notdeep.sub.example", "sub.example"),
    ] {
        assert_eq!(entry(&bootstrap, query), matched, "{query}");
    }
    let servers = servers(&bootstrap, "a.example").unwrap();
    assert_eq!(
        bases(&servers),
        [
            "https://two.example/rdap/",
            "https://three.example/",
            "http://one.example/"
        ]
    );
    let targets: Vec<String> = servers
        .targets("domain/a.example?x")
        .map(|target| target.unwrap().to_string())
        .collect();
    assert_eq!(targets[0], "https://two.example/rdap/domain/a.example?x");
}

#[test]
fn prefixes_match_what_they_contain() {
    let v4 = r#"[["192.0.2.0/24", "0.0.0.0/0"], ["https://a.example/"]], [["192.0.2.128/25"], ["https://b.example/"]]"#;
    let bootstrap = with(Registry::Ipv4, v4).unwrap();
    for (query, matched) in [
        ("192.0.2.129", "192.0.2.128/25"),
        ("192.0.2.127", "192.0.2.0/24"),
        ("192.0.2.128/24", "192.0.2.0/24"),
        ("192.0.2.128/25", "192.0.2.128/25"),
        ("192.0.0.0/16", "0.0.0.0/0"),
        ("192.0.2.0/23", "0.0.0.0/0"),
        ("198.51.100.1", "0.0.0.0/0"),
    ] {
        assert_eq!(entry(&bootstrap, query), matched, "{query}");
    }
    let v6 = r#"[["2001:db8::/32", "2001:db8:1::/48", "::/0"], ["https://a.example/"]]"#;
    let bootstrap = with(Registry::Ipv6, v6).unwrap();
    assert_eq!(entry(&bootstrap, "2001:db8:1:2::3"), "2001:db8:1::/48");
    assert_eq!(entry(&bootstrap, "2001:db8:1::/47"), "2001:db8::/32");
    assert_eq!(entry(&bootstrap, "fc00::1"), "::/0");
}

#[test]
fn ranges_include_their_ends() {
    let asn = r#"[["64496-64500", "7", "4294967295-4294967295"], ["https://a.example/"]], [["64500-64511"], ["https://b.example/"]]"#;
    let bootstrap = with(Registry::Asn, asn).unwrap();
    for (query, matched) in [
        ("AS64496", "64496-64500"),
        ("AS64500", "64496-64500"),
        ("AS7", "7"),
        ("AS4294967295", "4294967295"),
    ] {
        assert_eq!(entry(&bootstrap, query), matched, "{query}");
    }
    for query in ["AS6", "AS8", "AS64495", "AS64501", "AS0"] {
        assert!(servers(&bootstrap, query).is_err(), "{query}");
    }
    let faults = bootstrap.faults(Registry::Asn);
    assert_eq!(faults, ["the range 64500-64511 overlaps with another"]);
}

#[test]
fn missing_servers_are_explained() {
    let mut bootstrap = Bootstrap::embedded();
    for (query, parts) in [
        (
            "example.invalid",
            &["example.invalid", "dns registry of 20", "--server URL"][..],
        ),
        ("10.1.2.3", &["private use (RFC 1918), and IANA's ipv4"]),
        ("fd00::1", &["unique-local (RFC 4193)"]),
        ("AS64512", &["private use (RFC 6996)"]),
        ("entity:ABC-NOBODY", &["handles that end in -NOBODY"]),
        ("example.ch", &["--overlay knows one"]),
    ] {
        let error = servers(&bootstrap, query).unwrap_err().to_string();
        for part in parts {
            assert!(error.contains(part), "{query}: {error}");
        }
    }
    bootstrap.overlay(true);
    let servers = servers(&bootstrap, "example.ch").unwrap();
    assert_eq!(bases(&servers), ["https://rdap.nic.ch/"]);
    assert!(servers.is_overlaid());
}

#[test]
fn the_overlay_has_no_entry_of_iana_and_cites_its_sources() {
    let mut bootstrap = Bootstrap::embedded();
    let overlay: serde_json::Value =
        serde_json::from_slice(include_bytes!("../../bootstrap/overlay.json")).unwrap();
    for service in overlay["services"].as_array().unwrap() {
        let sources = service[0].as_array().unwrap();
        assert!(!sources.is_empty(), "{service}");
        for name in service[1].as_array().unwrap() {
            let key = Key::Domain(name.as_str().unwrap());
            bootstrap.overlay(false);
            let unlisted = bootstrap.servers(&key);
            assert!(
                matches!(unlisted, Err(NoServerError::Unlisted { .. })),
                "{name}"
            );
            bootstrap.overlay(true);
            assert!(bootstrap.servers(&key).unwrap().is_overlaid(), "{name}");
        }
    }
}

#[test]
fn iana_takes_precedence_over_the_overlay() {
    let mut bootstrap = with(Registry::Dns, r#"[["ch"], ["https://iana.example/"]]"#).unwrap();
    bootstrap.overlay(true);
    let servers = servers(&bootstrap, "example.ch").unwrap();
    assert_eq!(
        (bases(&servers)[0].as_str(), servers.is_overlaid()),
        ("https://iana.example/", false)
    );
}

#[test]
fn a_broken_copy_changes_nothing() {
    let mut bootstrap = Bootstrap::embedded();
    let before = bootstrap.publication(Registry::Dns).to_owned();
    let whole = Registry::Dns.embedded();
    let huge = vec![b' '; file::MAX_FILE + 1];
    for (json, part) in [
        (&whole[..whole.len() / 2], "not complete JSON"),
        (&whole[..whole.len() - 4], "not complete JSON"),
        (b"", "not complete JSON"),
        (b"<html>", "not complete JSON"),
        (b"[]", "not complete JSON"),
        (br#"{"version":"1.0"}"#, "not complete JSON"),
        (br#"{"services":{}}"#, "not complete JSON"),
        (br#"{"services":[]}"#, "no usable entry"),
        (
            br#"{"version":"2.0","services":[[["a"],["https://a.example/"]]]}"#,
            "version 2.0",
        ),
        (
            br#"{"services":[[["a"],["ftp://a.example/"]]]}"#,
            "not plain http or https",
        ),
        (Registry::Asn.embedded(), "no usable entry"),
        (Registry::Ipv4.embedded(), "no usable entry"),
        (&huge, "larger than"),
    ] {
        let error = bootstrap
            .replace(Registry::Dns, json)
            .unwrap_err()
            .to_string();
        assert!(error.contains(part), "{error}");
        assert!(!error.contains('\n') && error.len() < 300, "{error}");
        assert_eq!(bootstrap.publication(Registry::Dns), before);
        assert_eq!(entry(&bootstrap, "example.com"), "com");
    }
}

#[test]
fn invalid_parts_are_skipped_and_reported() {
    let services = r#"
        [["good"], ["https://a.example/"]], 7, [["lost"]], [["none"], []], [["odd", 5], ["https://a.example/"]],
        [["ünicode", "1.2.3.4", "good", "fine"], ["https://user:pass@x/", "https://b.example/"]]"#;
    let bootstrap = with(Registry::Dns, services).unwrap();
    assert_eq!(entry(&bootstrap, "a.good"), "good");
    assert_eq!(
        bases(&servers(&bootstrap, "a.fine").unwrap()),
        ["https://b.example/"]
    );
    assert!(servers(&bootstrap, "a.odd").is_err());
    let faults = bootstrap.faults(Registry::Dns);
    assert_eq!(faults.len(), 8, "{faults:#?}");
    let many = vec!["7"; 1000].join(",");
    let bootstrap = with(
        Registry::Dns,
        &format!(r#"[["good"], ["https://a.example/"]], {many}"#),
    )
    .unwrap();
    assert!(bootstrap.faults(Registry::Dns).len() < 100);
}

#[test]
fn only_a_later_copy_renews() {
    let mut bootstrap = Bootstrap::embedded();
    assert!(
        !bootstrap
            .renew(Registry::Dns, Registry::Dns.embedded())
            .unwrap()
    );
    let old = String::from_utf8_lossy(SHORT).replace("2031", "2001");
    assert!(!bootstrap.renew(Registry::Dns, old.as_bytes()).unwrap());
    assert_eq!(entry(&bootstrap, "example.com"), "com");
    assert!(bootstrap.renew(Registry::Dns, SHORT).unwrap());
    assert!(servers(&bootstrap, "example.com").is_err());
    assert!(bootstrap.renew(Registry::Dns, b"{").is_err());
}

#[test]
fn a_copy_is_loaded_from_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("dns.json");
    let mut bootstrap = Bootstrap::embedded();
    let error = bootstrap.load(Registry::Dns, &path).unwrap_err();
    assert!(
        error.to_string().contains("dns.json cannot be read"),
        "{error}"
    );
    std::fs::write(&path, SHORT).unwrap();
    bootstrap.load(Registry::Dns, &path).unwrap();
    assert_eq!(entry(&bootstrap, "a.example"), "example");
}

#[test]
fn only_the_needed_registry_is_parsed() {
    let bootstrap = Bootstrap::embedded();
    let read = |bootstrap: &Bootstrap| -> Vec<Registry> {
        let is_read = |r: &Registry| bootstrap.tables[r.index()].get().is_some();
        Registry::ALL.into_iter().filter(is_read).collect()
    };
    assert_eq!(read(&bootstrap), []);
    servers(&bootstrap, "193.0.6.139").unwrap();
    assert_eq!(read(&bootstrap), [Registry::Ipv4]);
}

proptest! {
    #[test]
    fn prefixes_and_ranges_hold_what_they_match(address: IpAddr, number: u32) {
        let bootstrap = Bootstrap::embedded();
        // An IPv4 address in the form of IPv6 is looked up as IPv4.
        let address = address.to_canonical();
        if let Ok(servers) = servers(&bootstrap, &address.to_string()) {
            let (first, length) = servers.entry().split_once('/').unwrap();
            let masked = Query::parse(&format!("{address}/{length}"), None).unwrap();
            prop_assert_eq!(masked.path(), format!("ip/{first}/{length}"));
        }
        if let Ok(servers) = servers(&bootstrap, &format!("AS{number}")) {
            let (first, last) = servers.entry().split_once('-').unwrap_or((servers.entry(), servers.entry()));
            prop_assert!(first.parse::<u32>().unwrap() <= number && number <= last.parse::<u32>().unwrap());
        }
    }

    #[test]
    fn no_file_makes_it_panic(json in r#"\{("version":"1.0",)?"services":\[(\[\["[a-z0-9./:-]{0,9}"\],\["https?://[a-z/:]{0,9}"\]\],?){0,4}\]\}?"#) {
        let mut bootstrap = Bootstrap::embedded();
        for registry in Registry::ALL {
            let _ = bootstrap.replace(registry, json.as_bytes());
            for query in ["example.com", "192.0.2.1", "2001:db8::1", "AS1", "A-B"] {
                let _ = servers(&bootstrap, query);
            }
        }
    }
}
