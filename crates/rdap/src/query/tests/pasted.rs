//! Queries as people paste them from web pages and registries.

use super::*;

/// A text, the path of its query, and whether there is a note.
const PASTED: &[(&str, &str, bool)] = &[
    ("192.0.2.0-192.0.2.255", "ip/192.0.2.0/24", false),
    ("entities?fn=a.:0", "entities?fn=a.:0", false),
    ("192.0.2.0 – 192.0.2.127", "ip/192.0.2.0/25", false),
    (
        "192.000.002.000 - 192.000.002.255",
        "ip/192.0.2.0/24",
        false,
    ),
    ("192.0.2.9-192.0.2.9", "ip/192.0.2.9", false),
    ("192.0.2.1 - 192.0.2.6", "ip/192.0.2.0/29", true),
    ("0.0.0.0-255.255.255.255", "ip/0.0.0.0/0", false),
    (
        "2001:db8:: - 2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
        "ip/2001:db8::/32",
        false,
    ),
    ("ip:192.0.2.0-192.0.2.255", "ip/192.0.2.0/24", false),
    (
        "up:192.0.2.0-192.0.2.255",
        "ips/rirSearch1/rdap-up/192.0.2.0/24",
        false,
    ),
    ("http://example.com/", "domain/example.com", true),
    (
        "HTTPS://Bücher.example",
        "domain/xn--bcher-kva.example",
        true,
    ),
    ("https://example.com:8443/#top", "domain/example.com", true),
    ("example.com/", "domain/example.com", true),
    ("http://192.0.2.1/", "ip/192.0.2.1", true),
    ("https://[2001:db8::1]:8443/", "ip/2001:db8::1", true),
    (
        "https://www.example.com/a/b?c=d#e",
        "domain/www.example.com",
        true,
    ),
    ("https://example.com/?q=1", "domain/example.com", true),
    ("//example.com/a", "domain/example.com", true),
    ("www.example.com/a/b", "domain/www.example.com", true),
    ("Exämple.com/Straße", "domain/xn--exmple-cua.com", true),
    ("example.com:443", "domain/example.com", true),
    ("192.0.2.1:443", "ip/192.0.2.1", true),
    ("[2001:db8::1]:443", "ip/2001:db8::1", true),
    ("<https://example.com/>", "domain/example.com", true),
    ("\"example.com\",", "domain/example.com", false),
    ("example.com;", "domain/example.com", false),
    ("192.0.2.1,", "ip/192.0.2.1", false),
    ("192.0.2.0-255", "ip/192.0.2.0/24", false),
    ("192.0.2.0/255.255.255.0", "ip/192.0.2.0/24", false),
    ("AS64496-AS64511", "autnum/64496", true),
    ("AS64496 – 64511", "autnum/64496", true),
    ("AS 64496", "autnum/64496", false),
    ("192.0.2.0/24", "ip/192.0.2.0/24", false),
    ("2001:db8::/32", "ip/2001:db8::/32", false),
    (
        "0/25.2.0.192.in-addr.arpa",
        "domain/0%2F25.2.0.192.in-addr.arpa",
        false,
    ),
    ("ASN64496", "autnum/64496", false),
    ("asn 64496", "autnum/64496", false),
    ("AS:64496", "autnum/64496", false),
    ("192.0.2.1.", "ip/192.0.2.1", false),
    ("192.0.2.0/24.", "ip/192.0.2.0/24", false),
    ("`example.com`", "domain/example.com", false),
    ("(example.com)", "domain/example.com", false),
    ("[2001:db8::1]", "ip/2001:db8::1", false),
    ("‘example.com’", "domain/example.com", false),
    ("example[.]com", "domain/example.com", false),
    ("192.0.2[.]1", "ip/192.0.2.1", false),
    ("2001[:]db8::1", "ip/2001:db8::1", false),
    ("hxxps://example[.]com/a", "domain/example.com", true),
    ("example.com?q=1", "domain/example.com", true),
    ("example.com#top", "domain/example.com", true),
    ("/domain/example.com", "domain/example.com", false),
    ("::ffff:192.0.2.1", "ip/192.0.2.1", true),
    ("::ffff:c000:201", "ip/192.0.2.1", true),
    ("[::ffff:192.0.2.1]:443", "ip/192.0.2.1", true),
    ("::ffff:192.0.2.0/120", "ip/192.0.2.0/24", true),
    ("::ffff:0:0/95", "ip/::fffe:0:0/95", true),
    ("192.0.2.0/0.0.0.255", "ip/192.0.2.0/24", false),
    ("192.0.2.0 255.255.255.0", "ip/192.0.2.0/24", false),
    ("192.0.2.0  0.0.0.255", "ip/192.0.2.0/24", false),
    ("10/8", "ip/10.0.0.0/8", false),
    ("192.0.2.*", "ip/192.0.2.0/24", false),
    ("10.*.*.*", "ip/10.0.0.0/8", false),
    ("192.0.2.0 to 192.0.2.255", "ip/192.0.2.0/24", false),
    ("192.0.2.0..192.0.2.127", "ip/192.0.2.0/25", false),
    ("AS64496 to AS64511", "autnum/64496", true),
    ("198.51.100/24", "ip/198.51.100.0/24", false),
    ("https://example.com/domains", "domain/example.com", true),
    ("https://example.com/ip", "domain/example.com", true),
    ("example.com/domain/", "domain/example.com", true),
    ("192.0.2.1:8080/a/b", "ip/192.0.2.1", true),
    ("[2001:db8::1]:8080/a", "ip/2001:db8::1", true),
    // Lines of WHOIS.
    (
        "inetnum:        192.0.2.0 - 192.0.2.255",
        "ip/192.0.2.0/24",
        false,
    ),
    (
        "NetRange: 192.0.2.0 - 192.0.2.255",
        "ip/192.0.2.0/24",
        false,
    ),
    ("CIDR: 192.0.2.0/24", "ip/192.0.2.0/24", false),
    ("inet6num: 2001:db8::/32", "ip/2001:db8::/32", false),
    ("route6: 2001:db8::/32", "ip/2001:db8::/32", false),
    ("aut-num: AS64496", "autnum/64496", false),
    ("as-block: AS64496 - AS64511", "autnum/64496", true),
    ("Domain Name: EXAMPLE.COM", "domain/example.com", false),
    (
        "Name Server: NS1.EXAMPLE.COM",
        "nameserver/ns1.example.com",
        false,
    ),
    ("nic-hdl: ABC1-RIPE", "entity/ABC1-RIPE", false),
    // These could be RDAP.
    (
        "registry.example/domain/example.com",
        "domain/example.com",
        false,
    ),
    (
        "//registry.example:8443/v1/ip/192.0.2.0/24",
        "v1/ip/192.0.2.0/24",
        false,
    ),
    (
        "https://registry.example/domains?name=a*",
        "domains?name=a*",
        false,
    ),
    ("https://www.example.com:8443/a", "a", false),
    ("http://192.0.2.1/a", "a", false),
    ("http://server/a", "a", false),
    (
        "https://registry.example/domain/example.com",
        "domain/example.com",
        false,
    ),
    ("https://registry.example/v1/help", "v1/help", false),
    (
        "https://rdap.example/domain/example.com",
        "domain/example.com",
        false,
    ),
    (
        "https://rdap.example/?q=example.com",
        "?q=example.com",
        false,
    ),
    ("url:https://rdap.example/", "", false),
    ("help:https://rdap.example/", "help", false),
];

#[test]
fn pasted_ranges_and_web_sites_are_recognised() {
    for &(text, path, noted) in PASTED {
        let query = parse(text);
        assert_eq!(
            (query.path().as_str(), query.note().is_some()),
            (path, noted),
            "{text}"
        );
    }
    assert_eq!(parse("http://example.com/"), parse("example.com"));
    assert_eq!(parse("help:https://rdap.example/").kind(), Kind::Help);
    assert_eq!(parse("my-own.example/").path(), "domain/my-own.example");
    for text in [
        "192.0.2.9-192.0.2.1",
        "192.0.2.1-2001:db8::",
        "192.0.2.0-192.0.2.256",
        "192.0.2.0/255.0.255.0",
        "192.0.2.1/24/",
        "10/9",
        "192.0.2/25",
        "192.0.2",
        "ip:192.*.2.1",
        "ip:*.*.*.*",
    ] {
        let refused = refused(text);
        assert!(
            ["ends", "neither", "prefix"]
                .iter()
                .any(|w| refused.contains(w)),
            "{refused}"
        );
    }
}

#[test]
fn text_that_is_not_a_query_is_refused_with_its_reason() {
    for (text, reason) in [
        ("AS5-AS1", "not the first and the last"),
        ("AS64511-64496", "not the first and the last"),
        ("010.8.8.8", "could be octal"),
        ("192.0.2.01/32", "could be octal"),
        ("192.0.2.1-192.0.2.09", "could be octal"),
        ("300.1.1.1", "neither"),
        ("1.2.3.4.05", "neither"),
        ("ftp://example.com/a", "not an http or https URL"),
        ("file:///etc/hosts", "not an http or https URL"),
        ("mailto:a@example.com", "no kind of query"),
        ("domian:example.com", "no kind of query"),
        ("2001:db8:::1", "neither"),
        ("fe80::1%eth0", "zone"),
    ] {
        let refused = refused(text);
        assert!(refused.contains(reason), "{text}: {refused}");
    }
    assert_eq!(parse("entity/a:b").path(), "entity/a:b");
    // As a handle, it may have any form.
    assert_eq!(parse("entity:AS5-AS1").kind(), Kind::Entity);
}
