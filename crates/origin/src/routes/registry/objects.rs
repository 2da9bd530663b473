//! The registry's answers: objects of RFC 9083, derived from the name, address or number alone, so
//! that every run gets the same bytes.

use std::net::IpAddr;

use serde_json::{Value, json};

const CREATED: &str = "2004-03-11T09:00:00Z";
const EXPIRES: &str = "2031-03-11T09:00:00Z";
const CHANGED: &str = "2026-02-01T12:00:00Z";
const UPDATED: &str = "2026-10-01T00:00:00Z";
/// The results on one page of a search, and in total.
const PAGE_SIZE: u64 = 50;
const RESULT_COUNT: u64 = 120;

pub(super) fn domain(name: &str, related: Option<&(String, &'static str)>) -> Value {
    let mut object = common("domain", &format!("D{}-EXAMPLE", name.len()));
    object["ldhName"] = json!(name.to_ascii_lowercase());
    object["links"] = json!([]);
    object["status"] = json!(["active", "client transfer prohibited"]);
    object["events"] = events(true);
    object["nameservers"] = json!([
        {"objectClassName": "nameserver", "ldhName": "ns1.example.net",
         "ipAddresses": {"v4": ["192.0.2.53"], "v6": ["2001:db8::53"]}},
        {"objectClassName": "nameserver", "ldhName": "ns2.example.net"}
    ]);
    object["secureDNS"] = json!({"delegationSigned": true, "dsData": [
        {"keyTag": 12345, "algorithm": 13, "digestType": 2,
         "digest": "3F79BB7B435B05321651DAEFD374CDC681DC06FAA65E374E38337B88CA046DEA"}
    ]});
    object["entities"] = json!([registrar()]);
    if let Some((href, media)) = related {
        object["links"] = json!([{"rel": "related", "href": href, "value": href, "type": media}]);
    }
    object
}

/// The registrar's object for the same name: it contains the registrant, and withholds the address
/// (RFC 9537).
pub(super) fn registrars_domain(name: &str, related: Option<&str>) -> Value {
    let related = related.map(|href| (href.to_owned(), "application/rdap+json"));
    let mut object = domain(name, related.as_ref());
    object["rdapConformance"] = json!(["rdap_level_0", "redacted"]);
    object["entities"] = json!([registrar(), contact("R1-EXAMPLE", "registrant")]);
    object["redacted"] = json!([{
        "name": {"description": "Registrant Street"},
        "postPath": "$.entities[?(@.roles[0]=='registrant')].vcardArray[1][?(@[0]=='adr')][3][:3]",
        "method": "emptyValue", "reason": {"description": "Server policy"}
    }]);
    object
}

pub(super) fn nameserver(name: &str) -> Value {
    let mut object = common("nameserver", "N1-EXAMPLE");
    object["ldhName"] = json!(name.to_ascii_lowercase());
    object["ipAddresses"] = json!({"v4": ["192.0.2.53"], "v6": ["2001:db8::53"]});
    object["events"] = events(false);
    object
}

pub(super) fn entity(handle: &str) -> Value {
    let mut object = common("entity", handle);
    object["vcardArray"] = contact(handle, "registrant")["vcardArray"].take();
    object["roles"] = json!(["registrant"]);
    object["events"] = events(false);
    object
}

pub(super) fn autnum(number: u32) -> Value {
    let mut object = common("autnum", &format!("AS{number}"));
    object["startAutnum"] = json!(number);
    object["endAutnum"] = json!(number);
    object["name"] = json!("EXAMPLE-AS");
    object["status"] = json!(["active"]);
    object["events"] = events(false);
    object
}

/// The network of 256 (IPv4) or 2^80 (IPv6) addresses that contains the requested one.
pub(super) fn network(text: &str) -> Option<Value> {
    let address = text.split('/').next()?.parse().ok()?;
    let (first, last, version, bits) = match address {
        IpAddr::V4(v4) => {
            let first = u32::from(v4) & !0xff;
            let range = [first, first | 0xff].map(|n| IpAddr::V4(n.into()));
            (range[0], range[1], "v4", 24)
        }
        IpAddr::V6(v6) => {
            let mask = (1_u128 << 80) - 1;
            let first = u128::from(v6) & !mask;
            let range = [first, first | mask].map(|n| IpAddr::V6(n.into()));
            (range[0], range[1], "v6", 48)
        }
    };
    let mut object = common("ip network", &format!("NET-{first}"));
    object["rdapConformance"] = json!(["rdap_level_0", "cidr0"]);
    object["startAddress"] = json!(first);
    object["endAddress"] = json!(last);
    object["ipVersion"] = json!(version);
    object["name"] = json!("EXAMPLE-NET");
    object["type"] = json!("ASSIGNED");
    object["country"] = json!("AA");
    object["status"] = json!(["active"]);
    object["cidr0_cidrs"] = json!([{format!("{version}prefix"): first, "length": bits}]);
    object["events"] = events(false);
    Some(object)
}

/// A page of a search (RFC 8977).
pub(super) fn domains(pattern: &str, cursor: Option<u64>, host: &str) -> Value {
    let from = cursor.unwrap_or(0).min(RESULT_COUNT);
    let until = (from + PAGE_SIZE).min(RESULT_COUNT);
    let stem = pattern.replace('*', "");
    let found: Vec<Value> = (from..until)
        .map(|n| domain(&format!("{stem}{n}.example"), None))
        .collect();
    let mut links = Vec::new();
    if until < RESULT_COUNT {
        let href = format!("https://{host}/rdap/domains?name={pattern}&cursor={until}");
        links.push(
            json!({"rel": "next", "href": href, "value": href, "type": "application/rdap+json"}),
        );
    }
    json!({
        "rdapConformance": ["rdap_level_0", "paging"],
        "domainSearchResults": found,
        "paging_metadata": {"totalCount": RESULT_COUNT, "pageSize": PAGE_SIZE, "links": links}
    })
}

pub(super) fn help(words: &[(&str, &str)]) -> Value {
    let lines: Vec<String> = words
        .iter()
        .map(|(word, what)| format!("{word}-*: {what}"))
        .collect();
    json!({
        "rdapConformance": ["rdap_level_0"],
        "notices": [{"title": "First words of names, and what they get", "description": lines}]
    })
}

pub(super) fn error(code: u16, why: &str) -> Value {
    json!({
        "rdapConformance": ["rdap_level_0"],
        "errorCode": code, "title": why, "description": ["This registry is a test server."]
    })
}

fn common(class: &str, handle: &str) -> Value {
    json!({
        "rdapConformance": ["rdap_level_0"],
        "objectClassName": class, "handle": handle,
        "notices": [{"title": "Terms of Use", "description": ["For tests only. Nothing here is registered."]}]
    })
}

fn events(expires: bool) -> Value {
    let mut events = vec![
        json!({"eventAction": "registration", "eventDate": CREATED}),
        json!({"eventAction": "last changed", "eventDate": CHANGED}),
        json!({"eventAction": "last update of RDAP database", "eventDate": UPDATED}),
    ];
    if expires {
        events.push(json!({"eventAction": "expiration", "eventDate": EXPIRES}));
    }
    json!(events)
}

fn registrar() -> Value {
    let mut entity = contact("9999", "registrar");
    entity["publicIds"] = json!([{"type": "IANA Registrar ID", "identifier": "9999"}]);
    entity["entities"] = json!([contact("ABUSE", "abuse")]);
    entity
}

fn contact(handle: &str, role: &str) -> Value {
    json!({
        "objectClassName": "entity", "handle": handle, "roles": [role],
        "vcardArray": ["vcard", [
            ["version", {}, "text", "4.0"],
            ["fn", {}, "text", format!("Example {role}")],
            ["adr", {}, "text", ["", "", "", "Exampletown", "", "", ""]],
            ["tel", {"type": "voice"}, "uri", "tel:+1.5555550100"],
            ["email", {}, "text", format!("{role}@example.net")]
        ]]
    })
}
