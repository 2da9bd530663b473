//! Answers through their public API, above all malformed and hostile ones.

use bytes::Bytes;
use proptest::prelude::*;

use super::*;

pub(super) fn answer(json: &str) -> Answer {
    Answer::read(Bytes::copy_from_slice(json.as_bytes())).unwrap()
}

#[test]
fn a_wrong_member_hides_nothing() {
    let answer = answer(
        r#"{"objectClassName": "domain", "handle": 7, "ldhName": "a.example", "status": "active",
            "nameservers": {"objectClassName": "nameserver", "ldhName": "ns.example", "ipAddresses": {"v4": "192.0.2.1"}},
            "secureDNS": {"delegationSigned": "true", "dsData": [{"keyTag": "12345"}, 9]},
            "events": [null, {"eventAction": "Registration", "eventDate": "2001-02-03"}], "entities": 5,
            "unheard_of": {"kept": true}}"#,
    );
    let Object::Domain(domain) = answer.object() else {
        panic!("{:?}", answer.object());
    };
    assert_eq!(domain.handle(), None);
    assert_eq!(domain.status().collect::<Vec<_>>(), ["active"]);
    let server = domain.nameservers().next().unwrap();
    assert_eq!(
        server.addresses(),
        ["192.0.2.1".parse::<std::net::IpAddr>().unwrap()]
    );
    let dns = domain.secure_dns().unwrap();
    assert_eq!(
        (dns.delegation_signed(), dns.ds().next().unwrap().key_tag()),
        (Some(true), Some(12345))
    );
    assert_eq!(
        domain.event("registration").unwrap().date().unwrap().day(),
        "2001-02-03"
    );
    assert!(answer.at("/unheard_of/kept").is_some());
    let told: Vec<String> = answer.oddities().iter().map(ToString::to_string).collect();
    let expected = [
        "/nameservers is an object, not an array of objects",
        "/handle is a number, not a string",
        "/status is a string, not an array of strings",
        "/entities is a number, not an array of objects",
        "/events is an array with something else in it, not an array of objects",
        "/secureDNS/delegationSigned is a string, not a boolean",
        "/secureDNS/dsData is an array with something else in it, not an array of objects",
        "/nameservers/ipAddresses/v4 is a string, not an array of strings",
        "/secureDNS/dsData/0/keyTag is a string, not a whole number",
    ];
    assert_eq!(told, expected);
}

#[test]
fn only_links_to_rdap_are_followed() {
    let answer = answer(
        r#"{"objectClassName": "domain", "links": [
            {"rel": "self", "type": "application/rdap+json", "href": "https://r.example/domain/a.example"},
            {"rel": "related", "href": "https://untyped.example/domain/a.example"},
            {"rel": "related", "href": "https://untyped.example/about"},
            {"rel": "related", "type": "text/html", "href": "https://page.example/domain/a.example"},
            {"rel": "related", "type": "application/rdap+json", "href": "https://r.example/domain/a.example"},
            {"rel": "Related", "type": "Application/RDAP+JSON; charset=utf-8", "href": "https://rr.example/domain/a.example"},
            {"rel": "related", "type": "application/rdap+json", "href": "https://rr.example/domain/a.example"},
            {"rel": "related", "type": "application/rdap+json"}]}"#,
    );
    let hrefs: Vec<_> = answer
        .related()
        .into_iter()
        .filter_map(Link::href)
        .collect();
    assert_eq!(
        hrefs,
        [
            "https://rr.example/domain/a.example",
            "https://untyped.example/domain/a.example"
        ]
    );
}

#[test]
fn the_link_to_the_next_page_is_found() {
    let paged = answer(
        r#"{"domainSearchResults": [], "paging_metadata": {"totalCount": 43, "pageNumber": 1, "links": [
            {"rel": "next", "value": "https://r.example/domains?name=e*", "href": "domains?name=e*&cursor=2"}]}}"#,
    );
    assert_eq!(paged.next_page(), Some("domains?name=e*&cursor=2"));
    let url = paged.next_url(None).unwrap();
    assert_eq!(url.as_str(), "https://r.example/domains?name=e*&cursor=2");
    let Object::Search(search) = paged.object() else {
        panic!("{:?}", paged.object());
    };
    assert_eq!(
        (search.kind, search.total(), search.page()),
        (SearchKind::Domains, Some(43), Some(1))
    );
    assert_eq!(answer("{}").next_page(), None);
}

#[test]
fn an_answer_serves_the_range_it_covers() {
    let v4 = answer(
        r#"{"objectClassName": "ip network", "startAddress": "192.0.2.0/24", "endAddress": "192.0.2.255"}"#,
    );
    let covers = v4.covers().unwrap();
    for (address, holds) in [
        ("192.0.2.0", true),
        ("192.0.2.255", true),
        ("192.0.3.0", false),
        ("::c000:200", false),
    ] {
        assert_eq!(covers.holds(address.parse().unwrap()), holds, "{address}");
    }
    let turned = answer(r#"{"startAddress": "192.0.2.9", "endAddress": "192.0.2.0"}"#);
    assert_eq!(turned.covers(), None);
    let autnum =
        answer(r#"{"objectClassName": "autnum", "startAutnum": 64496, "endAutnum": "64511"}"#);
    assert_eq!(autnum.covers(), Some(Covers::Autnums(64496, 64511)));
    assert_eq!(answer(r#"{"startAutnum": 4294967296}"#).covers(), None);
}

/// Old answers of ARIN write octets in this way.
#[test]
fn octets_with_leading_zeros_are_decimal() {
    let network = answer(
        r#"{"objectClassName": "ip network", "startAddress": "010.000.002.000", "endAddress": "010.000.002.255",
            "cidr0_cidrs": [{"v4prefix": "010.000.002.000", "length": 24}]}"#,
    );
    let ten = |last| std::net::IpAddr::from([10, 0, 2, last]);
    assert_eq!(network.covers(), Some(Covers::Ips(ten(0), ten(255))));
    let Object::Network(whole) = network.object() else {
        panic!("no network");
    };
    assert_eq!(whole.cidrs(), ["10.0.2.0/24"]);
    for wrong in [
        "010.000.002.256",
        "010.000.002.0000",
        "010.000.002",
        "010.000.0x2.000",
    ] {
        let json = format!(r#"{{"startAddress": "{wrong}", "endAddress": "010.000.002.255"}}"#);
        assert_eq!(answer(&json).covers(), None, "{wrong}");
    }
}

#[test]
fn cards_are_parsed_in_all_variants() {
    for card in [
        r#"["vcard", [["version", {}, "text", "4.0"], ["fn", {}, "text", " Joe "], ["tel", {"type": ["work", "FAX"]}, "uri", "tel:+1.5;ext=7"],
            ["adr", {"cc": "CA"}, "text", ["", ["Suite 1", "Floor 2"], "4 Rd", "Quebec", "QC", "G1V", ""]], ["email", {}, "text", "j@example.com"]]]"#,
        r#"[["FN", null, "text", "Joe"], ["tel", {"TYPE": "fax"}, "text", "+1.5 ext. 7"], ["email", {}, "text", ["j@example.com"]],
            ["adr", {"CC": "CA"}, "text", [null, "Suite 1", ["Floor 2", "4 Rd"], "Quebec", "QC", "G1V"]]]"#,
    ] {
        let answer = answer(&format!(
            r#"{{"objectClassName": "entity", "vcardArray": {card}}}"#
        ));
        let contact = Entity(answer.top()).contact();
        assert_eq!(contact.name.as_deref(), Some("Joe"));
        assert_eq!(
            (contact.fax(), contact.voice()),
            (Some("+1.5 ext. 7"), None)
        );
        assert_eq!(contact.emails, ["j@example.com"]);
        let lines = ["Suite 1", "Floor 2", "4 Rd", "Quebec", "QC", "G1V", "CA"];
        assert_eq!(contact.address().unwrap().lines(), lines);
    }
}

#[test]
fn labels_and_other_names_are_understood() {
    let answer = answer(
        r#"{"vcardArray": ["vcard", [["n", {}, "text", ["Doe", "Jo", "", ""]], ["org", {}, "text", ["Example", "Sales"]],
            ["adr", {"label": "1 Way\n\nTown\n", "cc": "DE"}, "text", ["", "", "", "", "", "", ""]], ["adr", {}, "text", []],
            ["contact-uri", {}, "uri", "https://example.com/form"]]]}"#,
    );
    let contact = Entity(answer.top()).contact();
    assert_eq!(contact.called(), Some("Doe, Jo"));
    assert_eq!(contact.organization.as_deref(), Some("Example, Sales"));
    assert_eq!(contact.addresses.len(), 1);
    assert_eq!(contact.address().unwrap().lines(), ["1 Way", "Town", "DE"]);
    assert_eq!(contact.contact_uris, ["https://example.com/form"]);
}

#[test]
fn jscontact_has_the_same_contents() {
    let answer = answer(
        r#"{"objectClassName": "entity", "jscontact_card": {"@type": "Card", "version": "1.0", "kind": "org",
            "name": {"components": [{"kind": "given", "value": "Jo"}, {"kind": "surname", "value": "Doe"}]},
            "organizations": {"o": {"name": "Example", "units": [{"name": "Sales"}]}},
            "emails": {"a": {"address": "j@example.com"}, "b": 5},
            "phones": {"v": {"number": "tel:+1.5"}, "f": {"number": "+1.6", "features": {"fax": true}}},
            "addresses": {"x": {"components": [{"kind": "name", "value": "4 Rd"}, {"kind": "locality", "value": "Quebec"}], "countryCode": "CA"}},
            "links": {"c": {"uri": "https://example.com/form", "kind": "contact"}, "u": {"uri": "https://example.com/"}}}}"#,
    );
    let contact = Entity(answer.top()).contact();
    assert_eq!(
        (contact.called(), contact.voice(), contact.fax()),
        (Some("Jo Doe"), Some("+1.5"), Some("+1.6"))
    );
    assert_eq!(contact.organization.as_deref(), Some("Example, Sales"));
    assert_eq!(contact.address().unwrap().lines(), ["4 Rd", "Quebec", "CA"]);
    assert_eq!(
        (contact.urls, contact.contact_uris),
        (
            vec!["https://example.com/"],
            vec!["https://example.com/form"]
        )
    );
}

#[test]
fn the_kind_is_recognised_without_a_class() {
    for (json, kind) in [
        (r#"{"objectClassName": "IP Network"}"#, "ip"),
        (r#"{"startAddress": 1}"#, "ip"),
        (r#"{"startAutnum": 1}"#, "autnum"),
        (r#"{"ldhName": "a.example"}"#, "domain"),
        (
            r#"{"ldhName": "a.example", "ipAddresses": {}}"#,
            "nameserver",
        ),
        (r#"{"vcardArray": []}"#, "entity"),
        (r#"{"errorCode": "404", "notices": []}"#, "error"),
        (r#"{"entitySearchResults": []}"#, "entities"),
        (r#"{"rdapConformance": [], "notices": []}"#, "help"),
        (r#"{"objectClassName": "lunar crater"}"#, "unknown"),
        ("{}", "unknown"),
    ] {
        assert_eq!(answer(json).object().kind(), kind, "{json}");
    }
}

#[test]
fn a_byte_order_mark_is_ignored() {
    let answer = Answer::read(Bytes::from_static(b"\xef\xbb\xbf{}")).unwrap();
    assert_eq!(&answer.raw()[..], b"{}");
}

const NAMES: &[&str] = &[
    "objectClassName",
    "handle",
    "ldhName",
    "unicodeName",
    "status",
    "events",
    "eventAction",
    "eventDate",
    "links",
    "rel",
    "href",
    "value",
    "type",
    "entities",
    "roles",
    "vcardArray",
    "nameservers",
    "ipAddresses",
    "v4",
    "secureDNS",
    "dsData",
    "keyTag",
    "digest",
    "notices",
    "title",
    "description",
    "startAddress",
    "endAddress",
    "cidr0_cidrs",
    "v6prefix",
    "length",
    "startAutnum",
    "errorCode",
    "redacted",
    "name",
    "reason",
    "method",
    "publicIds",
    "identifier",
    "domainSearchResults",
    "paging_metadata",
    "rdapConformance",
    "variants",
    "variantNames",
    "jscontact_card",
    "~/",
];

const TEXTS: &[&str] = &[
    "domain",
    "ip network",
    "entity",
    "registrar",
    "registration",
    "2024-02-30T10:00:00Z",
    "1995-08-14T04:00:00Z",
    "https://a.example/domain/b.example",
    "related",
    "application/rdap+json",
    "xn--bcher-kva.example",
    "xn--\u{fc}",
    "192.0.2.1",
    "2001:db8::",
    "\u{1b}[31m\u{202e}",
    "=cmd()",
    "vcard",
    "fn",
    "adr",
    "text",
    "",
    "IANA Registrar ID",
    "9999-99-99T99:99:99Z",
    "漢字 e\u{301}",
    "$.handle",
    "ok",
];

/// JSON with RDAP's members in all the wrong places.
pub(crate) fn hostile() -> impl Strategy<Value = String> {
    let names = prop::sample::select(NAMES);
    let texts = prop::sample::select(TEXTS);
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("-1e308".to_owned()),
        any::<u64>().prop_map(|n| n.to_string()),
        texts.prop_map(|t| serde_json::to_string(t).unwrap()),
    ];
    let node = leaf.prop_recursive(5, 60, 6, move |inner| {
        let member = (names.clone(), inner.clone())
            .prop_map(|(name, value)| format!("{}:{value}", serde_json::to_string(name).unwrap()));
        prop_oneof![
            prop::collection::vec(inner, 0..5).prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::vec(member, 0..8)
                .prop_map(|members| format!("{{{}}}", members.join(","))),
        ]
    });
    prop::collection::vec(node, 1..8).prop_map(|nodes| {
        let members = [
            "entities",
            "events",
            "nameservers",
            "secureDNS",
            "vcardArray",
            "links",
            "ldhName",
            "status",
        ];
        let members = nodes
            .iter()
            .zip(members)
            .map(|(node, name)| format!("\"{name}\":{node}"));
        format!(
            "{{\"objectClassName\":\"domain\",{}}}",
            members.collect::<Vec<_>>().join(",")
        )
    })
}

proptest! {
    #[test]
    fn hostile_json_only_causes_oddities(json in hostile()) {
        let answer = answer(&json);
        let _ = (answer.oddities(), answer.related(), answer.next_url(None), answer.covers());
        let mut again = String::new();
        answer.root().write_json(&mut again);
        let again = Answer::read(Bytes::from(again)).unwrap();
        prop_assert_eq!(again.root(), answer.root());
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
        let _ = Answer::read(Bytes::from(bytes));
    }
}
