//! What the requested URL says: who answers, and what was asked for.

use serde_json::Value;
use url::Url;

use super::{Delivery, Profile, answer, check, fixture};

#[test]
fn a_registrar_is_recognised_by_its_base_url() {
    let at = |base: &str, url: &str, about: Option<&str>| {
        let mut json = fixture(&format!("{base}.json"));
        if let Some(about) = about {
            json["entities"][0]["links"][0]["value"] = about.into();
        }
        Profile::claimed(&answer(&json), Some(&url.parse().unwrap()))
    };
    for (url, about) in [
        ("https://rdap.registrar.example/domain/a.example", None),
        ("https://RDAP.registrar.example:443/domain/a.example", None),
        ("http://rdap.registrar.example/domain/a.example", None),
        (
            "https://b.example/rdap/domain/a.example",
            Some("https://b.example/rdap"),
        ),
        (
            "https://b.example/rdap/domain/a.example",
            Some("https://b.example/rdap/"),
        ),
    ] {
        let profiles = at("gtld-registrar", url, about);
        assert_eq!(profiles, [Profile::GtldRegistrar], "{url} {about:?}");
    }
    let registry = "https://rdap.registry.example/domain/a.example";
    for (url, about) in [
        (registry, None),
        // Neither the URL of the lookup nor a folder with a similar name is a base.
        (registry, Some(registry)),
        (
            "https://b.example/rdap2/domain/a.example",
            Some("https://b.example/rdap"),
        ),
        (
            "https://b.example/registry/domain/a.example",
            Some("https://b.example/"),
        ),
        (registry, Some("")),
    ] {
        let profiles = at("domain-registry", url, about);
        assert_eq!(profiles, [Profile::GtldRegistry], "{url} {about:?}");
    }
    // Asked directly, a registrar is held against its own rules.
    let ids = |url: &str, json: &Value| -> Vec<&'static str> {
        let url: Url = url.parse().unwrap();
        let answer = answer(json);
        let profiles = Profile::claimed(&answer, Some(&url));
        let delivery = Delivery {
            url: Some(&url),
            ..Delivery::default()
        };
        let found = check(&answer, &delivery, &profiles);
        found.iter().map(|v| v.check.id).collect()
    };
    let url = "https://rdap.registrar.example/domain/xn--bcher-kva.example";
    let mut json = fixture("gtld-registrar.json");
    assert!(ids(url, &json).is_empty());
    json["entities"][1]["roles"] = serde_json::json!(["technical"]);
    assert!(ids(url, &json).contains(&"gtld-registrant"));
    json["entities"][0]["links"][0]["value"] = "https://other.example/".into();
    assert!(ids(url, &json).contains(&"gtld-related"));
}

#[test]
fn a_total_is_given_if_it_is_asked_for() {
    let found = |query: &str, total: bool| {
        let mut json = fixture("search.json");
        if !total {
            json["paging_metadata"]
                .as_object_mut()
                .unwrap()
                .remove("totalCount");
        }
        let url: Url = format!("https://example.com/domains?name=a*{query}")
            .parse()
            .unwrap();
        let delivery = Delivery {
            url: Some(&url),
            ..Delivery::default()
        };
        let found = check(&answer(&json), &delivery, &[]);
        found.iter().any(|v| v.check.id == "paging-count")
    };
    for (query, total) in [
        ("&count=true", true),
        ("&count=1", true),
        ("", false),
        ("&count=no", false),
    ] {
        assert!(!found(query, total), "{query} {total}");
        assert!(found(query, !total), "{query} {}", !total);
    }
    // The cursor of a further page says it.
    assert!(!found("&cursor=a", true) && !found("&cursor=a", false));
}
