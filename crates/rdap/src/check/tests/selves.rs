//! Objects and their self links.

use serde_json::Value;

use super::{Delivery, answer, check, fixture};

/// Gives each object below the topmost one a self link: in the fixtures, few have one.
pub(super) fn add_self_links(json: &mut Value) {
    match json {
        Value::Array(items) => items.iter_mut().for_each(add_self_links),
        Value::Object(members) => {
            for value in members.values_mut() {
                add_self_links(value);
                for object in value.as_array_mut().into_iter().flatten() {
                    if object["objectClassName"].is_string() {
                        add_self_link(object);
                    }
                }
            }
        }
        _ => {}
    }
}

fn add_self_link(object: &mut Value) {
    let url = "https://example.com/entity/X";
    let link = serde_json::json!({
        "value": url, "rel": "self", "href": url, "type": "application/rdap+json",
    });
    let members = object.as_object_mut().unwrap();
    let links = members
        .entry("links")
        .or_insert_with(|| Value::Array(Vec::new()));
    let links = links.as_array_mut().unwrap();
    if !links.iter().any(|link| link["rel"] == "self") {
        links.push(link);
    }
}

#[test]
fn objects_without_a_self_link_are_reported_together() {
    let ids = |json: &Value| {
        let found = check(&answer(json), &Delivery::default(), &[]);
        found.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let mut json = fixture("entity.json");
    assert!(ids(&json).is_empty());
    for list in ["networks", "autnums"] {
        json[list][0].as_object_mut().unwrap().remove("links");
    }
    let [told] = &*ids(&json) else {
        panic!("{:?}", ids(&json));
    };
    assert!(
        told.starts_with("warning: link-self at /networks/0: "),
        "{told}"
    );
    assert!(told.contains("1 other"), "{told}");
    // Name servers of domains may lack them (RFC 9083, section 5.2).
    let mut json = fixture("domain-variants.json");
    json["nameservers"][0]
        .as_object_mut()
        .unwrap()
        .remove("links");
    assert!(ids(&json).is_empty());
}
