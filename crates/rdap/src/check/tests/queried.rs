//! Answers to searches, compared with their queries (RFC 8977, 8982 and 9536).

use super::*;

fn ids(query: &str, json: &Value) -> Vec<&'static str> {
    let url = format!("https://example.com/rdap/{query}").parse().unwrap();
    let delivery = Delivery {
        url: Some(&url),
        ..Delivery::default()
    };
    let found = check(&answer(json), &delivery, &[]);
    found.iter().map(|v| v.check.id).collect()
}

#[test]
fn sorts_field_sets_and_totals_are_those_of_the_query() {
    let mut json = fixture("search.json");
    let asks = |parameters: &str| format!("domains?name=a*&{parameters}");
    for right in [
        "count=1",
        "count=1&sort=name",
        "count=1&sort=name:a&fieldSet=brief",
    ] {
        assert!(ids(&asks(right), &json).is_empty(), "{right}");
    }
    for (wrong, id) in [
        ("count=1&sort=handle", "sort-current"),
        ("count=1&sort=name:d", "sort-current"),
        ("count=1&fieldSet=id", "subset-current"),
        ("count=0", "paging-count"),
    ] {
        assert_eq!(ids(&asks(wrong), &json), [id], "{wrong}");
    }
    let mut unsorted = json.clone();
    let sorting = unsorted["sorting_metadata"].as_object_mut().unwrap();
    sorting.remove("currentSort");
    assert!(ids(&asks("count=1"), &unsorted).is_empty());
    assert_eq!(ids(&asks("count=1&sort=name"), &unsorted), ["sort-current"]);
    json.as_object_mut().unwrap().remove("paging_metadata");
    assert_eq!(ids(&asks("count=1"), &json), ["paging-count"]);
    // A server without the extension ignores its parameters.
    json["rdapConformance"] = serde_json::json!(["rdap_level_0", "sorting", "subsetting"]);
    assert!(ids(&asks("count=1"), &json).is_empty());
}

#[test]
fn a_reverse_search_says_where_its_properties_are() {
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
    // Each property of the query must be mapped, but no parameter of another extension.
    let paged = format!("{reverse}&count=false&sort=name&fieldSet=id");
    assert!(ids(&paged, &json).is_empty());
    let two = format!("{reverse}&role=registrant");
    assert_eq!(ids(&two, &json), ["reverse-mapping"]);
    assert!(ids("domains/reverse_search/entity?cursor=wJlC", &json).is_empty());
    json["rdapConformance"] = serde_json::json!(["rdap_level_0"]);
    assert_eq!(ids(reverse, &json), ["conformance-unclaimed"]);
}
