//! The answer to a reverse search (RFC 9536).

use super::*;

#[test]
fn a_reverse_search_says_where_its_properties_are() {
    let ids = |query: &str, json: &Value| -> Vec<&'static str> {
        let url = format!("https://example.com/rdap/{query}").parse().unwrap();
        let delivery = Delivery {
            url: Some(&url),
            ..Delivery::default()
        };
        let found = check(&answer(json), &delivery, &[]);
        found.iter().map(|v| v.check.id).collect()
    };
    let mut json = serde_json::json!({
        "rdapConformance": ["rdap_level_0", "reverse_search"], "domainSearchResults": [],
    });
    let reverse = "domains/reverse_search/entity?fn=Bobby*";
    assert_eq!(ids(reverse, &json), ["reverse-mapping"]);
    assert!(ids("domains?name=reverse_search*", &json).is_empty());
    let path = "$.entities[*].vcardArray[1][?(@[0]=='fn')][3]";
    json["reverse_search_properties_mapping"] =
        serde_json::json!([{"property": "fn", "propertyPath": path}]);
    assert!(ids(reverse, &json).is_empty());
    json["rdapConformance"] = serde_json::json!(["rdap_level_0"]);
    assert_eq!(ids(reverse, &json), ["conformance-unclaimed"]);
}
