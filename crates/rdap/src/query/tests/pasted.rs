//! Queries as people paste them from web pages and registries.

use super::*;

#[test]
fn pasted_ranges_and_web_sites_are_recognised() {
    for (text, path, noted) in [
        ("192.0.2.0-192.0.2.255", "ip/192.0.2.0/24", false),
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
        // These could be RDAP.
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
    ] {
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
    ] {
        let refused = refused(text);
        assert!(
            refused.contains("ends") || refused.contains("neither"),
            "{refused}"
        );
    }
}
