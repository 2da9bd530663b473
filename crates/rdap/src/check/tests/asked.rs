//! Answers that are about another object than the requested one.

use url::Url;

use super::{Delivery, answer, check, fixture};

#[test]
fn an_answer_is_about_what_was_asked_for() {
    let asked = |base: &str, path: &str| -> Option<&'static str> {
        let url: Url = format!("https://example.net/{path}").parse().unwrap();
        let delivery = Delivery {
            url: Some(&url),
            ..Delivery::default()
        };
        let found = check(&answer(&fixture(&format!("{base}.json"))), &delivery, &[]);
        let mut ids = found.iter().map(|v| v.check.id);
        ids.find(|id| id.ends_with("-asked"))
    };
    for (base, path) in [
        ("ip-v4", "ip/192.0.2.7"),
        ("ip-v4", "ip/192.0.2.0/25"),
        ("ip-v6", "ip/2001%3Adb8::1"),
        ("autnum", "autnum/64496"),
        ("domain-registry", "domain/XN--bcher-kva.example."),
        ("domain-registry", "domain/b%C3%BCcher.example"),
        ("domain-variants", "domain/xn--fo-cka.example"),
        ("nro-domain", "domain/7.2.0.192.in-addr.arpa"),
        ("search", "domains?name=example*.example"),
        ("help", "help"),
        ("error-404", "ip/192.0.2.1"),
        ("ip-v4", "ips/rirSearch1/rdap-up/198.51.100.0/24"),
    ] {
        assert_eq!(asked(base, path), None, "{base} for {path}");
    }
    for (base, path, id) in [
        ("ip-v4", "ip/198.51.100.7", "object-asked"),
        ("ip-v4", "ip/192.0.0.0/16", "object-asked"),
        ("ip-v4", "ip/2001:db8::1", "object-asked"),
        ("autnum", "autnum/70000", "object-asked"),
        ("domain-registry", "domain/other.example", "object-asked"),
        (
            "nro-domain",
            "domain/102.0.192.in-addr.arpa",
            "object-asked",
        ),
        ("nameserver", "nameserver/ns9.example", "object-asked"),
        ("domain-registry", "help", "class-asked"),
        ("entity", "domains?name=a*", "class-asked"),
        ("search", "entities?fn=a*", "class-asked"),
    ] {
        assert_eq!(asked(base, path), Some(id), "{base} for {path}");
    }
}

#[test]
fn an_object_of_no_known_class_may_be_redacted() {
    let json = serde_json::json!({
        "rdapConformance": ["rdap_level_0", "redacted"], "handle": "X",
        "redacted": [{"name": {"type": "Tech Phone"}, "method": "removal"}],
    });
    let found = check(&answer(&json), &Delivery::default(), &[]);
    assert!(!found.iter().any(|v| v.check.id == "redaction-place"));
}
