//! Queries as people type them, the result of parsing each, and the messages for invalid ones.

use proptest::prelude::*;

use super::*;

mod pasted;

fn parse(text: &str) -> Query {
    Query::parse(text, None).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn refused(text: &str) -> String {
    match Query::parse(text, None) {
        Ok(query) => panic!("{text} was read as {query:?}"),
        Err(error) => error.to_string(),
    }
}

fn ip(text: &str, prefix: u8) -> Key<'static> {
    Key::Ip(text.parse().unwrap(), prefix)
}

#[test]
fn kinds_are_recognised_and_have_their_paths() {
    for (text, kind, path) in [
        ("example.com", Kind::Domain, "domain/example.com"),
        ("  ExAmPlE.COM. ", Kind::Domain, "domain/example.com"),
        ("com", Kind::Domain, "domain/com"),
        ("help.", Kind::Domain, "domain/help"),
        ("domains", Kind::Domain, "domain/domains"),
        ("as", Kind::Domain, "domain/as"),
        ("as64500.example", Kind::Domain, "domain/as64500.example"),
        ("xn--p1ai", Kind::Domain, "domain/xn--p1ai"),
        ("my-own.example", Kind::Domain, "domain/my-own.example"),
        (
            "_dmarc.example.com",
            Kind::Domain,
            "domain/_dmarc.example.com",
        ),
        ("192.0.2.1", Kind::Ip, "ip/192.0.2.1"),
        ("192.0.2.0/24", Kind::Ip, "ip/192.0.2.0/24"),
        ("2001:DB8::0:1", Kind::Ip, "ip/2001:db8::1"),
        ("[2001:db8::1]", Kind::Ip, "ip/2001:db8::1"),
        ("2001:db8::/32", Kind::Ip, "ip/2001:db8::/32"),
        ("AS64500", Kind::Autnum, "autnum/64500"),
        ("64500", Kind::Autnum, "autnum/64500"),
        ("as1.10", Kind::Autnum, "autnum/65546"),
        ("ABC123-ARIN", Kind::Entity, "entity/ABC123-ARIN"),
        (
            "292875_DOMAIN_COM-VRSN",
            Kind::Entity,
            "entity/292875_DOMAIN_COM-VRSN",
        ),
        ("help", Kind::Help, "help"),
        ("HTTPS://rdap.example/a?b=c", Kind::Url, "a?b=c"),
        (
            "ns:ns1.example.com",
            Kind::Nameserver,
            "nameserver/ns1.example.com",
        ),
        ("entity:A B/C%", Kind::Entity, "entity/A%20B%2FC%25"),
        ("domain:help", Kind::Domain, "domain/help"),
        ("domain: example.com", Kind::Domain, "domain/example.com"),
        ("asn:1.10", Kind::Autnum, "autnum/65546"),
    ] {
        let query = parse(text);
        assert_eq!(
            (query.kind(), query.path().as_str()),
            (kind, path),
            "{text}"
        );
    }
}

#[test]
fn names_beyond_ascii_become_a_labels() {
    for (text, ascii, shown) in [
        ("Bücher.example", "xn--bcher-kva.example", "bücher.example"),
        (
            "xn--bcher-kva.EXAMPLE",
            "xn--bcher-kva.example",
            "bücher.example",
        ),
        ("例え。テスト", "xn--r8jz45g.xn--zckzah", "例え.テスト"),
        ("ｅｘａｍｐｌｅ．ｃｏｍ", "example.com", "example.com"),
        // Non-transitional: the sharp s is a separate letter. UTS 46 §4.
        ("straße.de", "xn--strae-oqa.de", "straße.de"),
        (
            "_dmarc.bücher.example",
            "_dmarc.xn--bcher-kva.example",
            "_dmarc.bücher.example",
        ),
    ] {
        let query = parse(text);
        assert_eq!(query.path(), format!("domain/{ascii}"), "{text}");
        assert_eq!(query.shown(), shown, "{text}");
        assert_eq!(query, parse(ascii), "{text}");
    }
}

#[test]
fn errors_in_names_mention_the_label() {
    let long = format!("{}.example", "a".repeat(64));
    let longer = format!("{}example", "a23456789.".repeat(25));
    for (text, part) in [
        ("a..example", "label 2 is empty"),
        (".example", "label 1 is empty"),
        ("ex ample.com", "the label 'ex ample' contains ' '"),
        ("-a.example", "'-a' begins or ends with a hyphen"),
        ("a!b.example", "'a!b' contains '!'"),
        ("a/b.example", "'a/b' contains '/'"),
        ("a.ex_ample", "'ex_ample' contains '_'"),
        ("xn--a.example", "'xn--a' is not a valid A-label"),
        ("☃\u{338}\u{2ff0}.example", "that IDNA does not permit"),
        ("example.123", "last label '123' is a number"),
        (&long, "has 64 octets"),
        (&longer, "has 257 octets"),
        ("אב.0a", "from right to left"),
    ] {
        assert!(refused(text).contains(part), "{text}: {}", refused(text));
    }
}

#[test]
fn reverse_names_have_the_key_of_their_addresses() {
    let six = "8.b.d.0.1.0.0.2.ip6.arpa";
    for (text, key) in [
        ("2.0.192.in-addr.arpa", Some(ip("192.0.2.0", 24))),
        ("1.2.0.192.IN-ADDR.ARPA.", Some(ip("192.0.2.1", 32))),
        ("10.in-addr.arpa", Some(ip("10.0.0.0", 8))),
        ("0/25.2.0.192.in-addr.arpa", Some(ip("192.0.2.0", 24))),
        ("1.0-127.2.0.192.in-addr.arpa", Some(ip("192.0.2.0", 24))),
        (six, Some(ip("2001:db8::", 32))),
        ("in-addr.arpa", Some(Key::Domain("in-addr.arpa"))),
        ("x.in-addr.arpa", Some(Key::Domain("x.in-addr.arpa"))),
        ("300.in-addr.arpa", Some(Key::Domain("300.in-addr.arpa"))),
    ] {
        assert_eq!(parse(text).key(), key, "{text}");
    }
    let classless = parse("0/25.2.0.192.in-addr.arpa");
    assert_eq!(classless.path(), "domain/0%2F25.2.0.192.in-addr.arpa");
}

#[test]
fn bits_below_a_prefix_are_cleared_with_a_note() {
    let query = parse("192.0.2.77/24");
    assert_eq!(query.path(), "ip/192.0.2.0/24");
    assert!(query.note().unwrap().contains("192.0.2.77"));
    assert_eq!(query, parse("192.0.2.0/24"));
    assert_eq!(parse("192.0.2.0/24").note(), None);
    assert_eq!(parse("2001:db8::1/0").path(), "ip/::/0");
    assert_eq!(parse("192.0.2.255/25").path(), "ip/192.0.2.128/25");
    assert_eq!(parse("192.0.2.255/32").note(), None);
    assert_eq!(parse("2001:db8:ffff::/33").path(), "ip/2001:db8:8000::/33");
}

#[test]
fn numbers_are_parsed_strictly() {
    for (text, part) in [
        ("192.0.2", "neither an IPv4 nor an IPv6"),
        ("192.0.02.1", "could be octal"),
        ("192.0.2.1/33", "from 0 to 32"),
        ("192.0.2.1/08", "from 0 to 32"),
        ("192.0.2.1/", "from 0 to 32"),
        ("2001:db8::/129", "from 0 to 128"),
        ("fe80::1%eth0", "zone"),
        ("AS4294967296", "from 0 to 4294967295"),
        ("AS1.65536", "two numbers up to 65535"),
        ("AS1.", "two numbers"),
    ] {
        assert!(refused(text).contains(part), "{text}: {}", refused(text));
    }
}

#[test]
fn searches_can_be_words_or_paths() {
    for (text, path) in [
        ("domains:exam*", "domains?name=exam*"),
        (
            "domains:BÜcher*.Example",
            "domains?name=b%C3%BCcher*.example",
        ),
        ("domains:exam*.bücher", "domains?name=exam*.xn--bcher-kva"),
        ("domains:192.0.2.1", "domains?nsIp=192.0.2.1"),
        (
            "domains?nsLdhName=ns1.example.*",
            "domains?nsLdhName=ns1.example.*",
        ),
        ("nameservers:ip=2001:DB8::1", "nameservers?ip=2001:db8::1"),
        ("entities:Bobby Joe*", "entities?fn=Bobby%20Joe*"),
        ("entities:A&B+C", "entities?fn=A%26B%2BC"),
        (
            "entities?fn=A%26B&count=true&sort=name:d",
            "entities?fn=A%26B&sort=name:d&count=true",
        ),
        ("ips:handle=NET-192*", "ips?handle=NET-192*"),
        ("autnums?name=EXAMPLE", "autnums?name=EXAMPLE"),
        (
            "domains/reverse:handle=ABC&role=technical",
            "domains/reverse_search/entity?handle=ABC&role=technical",
        ),
        (
            "ips/reverse_search/entity?email=a%40b.example",
            "ips/reverse_search/entity?email=a%40b.example",
        ),
        (
            "up:192.0.2.1?status=active",
            "ips/rirSearch1/rdap-up/192.0.2.1?status=active",
        ),
        ("bottom:AS64500", "autnums/rirSearch1/rdap-bottom/64500"),
        (
            "top:2.0.192.in-addr.arpa",
            "domains/rirSearch1/rdap-top/2.0.192.in-addr.arpa",
        ),
        (
            "ips/rirSearch1/rdap-down/2001:db8::/32",
            "ips/rirSearch1/rdap-down/2001:db8::/32",
        ),
    ] {
        assert_eq!(parse(text).path(), path, "{text}");
    }
}

#[test]
fn searches_that_no_server_could_answer_are_refused() {
    for (text, part) in [
        ("domains:a*b*", "more than one asterisk"),
        (
            "domains?fn=a",
            "it can be searched by name, nsLdhName, nsIp",
        ),
        ("domains?name=", "'name' has no value"),
        ("domains?count=true", "exactly one property"),
        ("domains?name=a&nsIp=192.0.2.1", "has 2"),
        ("domains?nsIp=192.0.2.*", "neither an IPv4"),
        ("domains?name=a*&count=maybe", "true or false"),
        ("domains?name=a%0a", "U+000A"),
        ("domains?name=a%zz", "does not percent-decode"),
        ("domains?name=%ff", "does not percent-decode"),
        ("domains/reverse_search/person?fn=a", "is not a path"),
        ("autnums/rirSearch1/rdap-up/192.0.2.1", "is not a path"),
        ("domain/example.com?x=y", "is not a path"),
        ("up:example.com", "has no relatives"),
        ("up:AS1?status=late", "active or inactive"),
    ] {
        assert!(refused(text).contains(part), "{text}: {}", refused(text));
    }
}

#[test]
fn a_query_has_a_key_if_possible() {
    for (text, key) in [
        ("example.com", Some(Key::Domain("example.com"))),
        ("ns:ns1.example.com", Some(Key::Domain("ns1.example.com"))),
        ("192.0.2.1", Some(ip("192.0.2.1", 32))),
        ("AS64500", Some(Key::Autnum(64500))),
        ("A-B-ARIN", Some(Key::Tag("ARIN"))),
        ("entity:292", None),
        ("help", None),
        ("help:com", Some(Key::Domain("com"))),
        ("domains:exam*.com", Some(Key::Domain("com"))),
        ("domains:exam*", None),
        ("domains:nsLdhName=ns1.example.com", None),
        ("entities:handle=ABC*-ARIN", Some(Key::Tag("ARIN"))),
        ("entities:handle=ABC-A*", None),
        ("domains/reverse:handle=ABC-ARIN", Some(Key::Tag("ARIN"))),
        ("autnums:handle=AS64500", Some(Key::Autnum(64500))),
        ("up:10.0.0.0/8", Some(ip("10.0.0.0", 8))),
        ("https://rdap.example/domain/x", None),
    ] {
        assert_eq!(parse(text).key(), key, "{text}");
    }
}

#[test]
fn a_kind_can_be_forced() {
    let ns = Query::parse("ns1.example.com", Some(Kind::Nameserver)).unwrap();
    assert_eq!(ns.path(), "nameserver/ns1.example.com");
    assert_eq!(ns, parse("nameserver/ns1.example.com"));
    assert_ne!(ns, parse("ns1.example.com"));
    let handle = Query::parse("192.0.2.1", Some(Kind::Entity)).unwrap();
    assert_eq!(handle.path(), "entity/192.0.2.1");
    assert!(Query::parse("example.com", Some(Kind::Ip)).is_err());
    assert!(Query::parse("example.com", Some(Kind::Url)).is_err());
    assert_eq!(Query::parse("", Some(Kind::Help)).unwrap(), parse("help"));
    for kind in Kind::all() {
        assert_eq!(kind.as_str().parse::<Kind>().unwrap(), kind);
        assert_eq!(kind.to_string(), kind.as_str());
    }
    let error = "host".parse::<Kind>().unwrap_err().to_string();
    assert!(error.contains("domains/reverse"), "{error}");
}

#[test]
fn help_needs_a_server() {
    let query = parse("help:https://rdap.example/v1?x#y");
    assert_eq!(query.kind(), Kind::Help);
    assert_eq!(
        query.url().unwrap().to_string(),
        "https://rdap.example/v1/help"
    );
    assert_eq!(
        parse("help:https://rdap.example/")
            .url()
            .unwrap()
            .path_and_query(),
        "/help"
    );
    assert!(refused("help:help:help").contains("help needs a server"));
    assert!(refused("help:entity:ABC").contains("help needs a server"));
}

#[test]
fn only_searches_have_parameters() {
    let mut search = parse("domains:exam*");
    search
        .set(
            Parameter::Cursor,
            "wJlCDLIl6KTWypN7T6vc6nWEmEYe99Hjf1XY1xmqV-M=",
        )
        .unwrap();
    search.set(Parameter::Count, "false").unwrap();
    search.set(Parameter::Count, "true").unwrap();
    let parameters = search.parameters().unwrap();
    assert_eq!(parameters.get(Parameter::Count), Some("true"));
    assert_eq!(parameters.get(Parameter::Sort), None);
    assert!(parse("example.com").parameters().is_none());
    assert_eq!(
        search.path(),
        "domains?name=exam*&count=true&cursor=wJlCDLIl6KTWypN7T6vc6nWEmEYe99Hjf1XY1xmqV-M%3D"
    );
    let error = parse("example.com")
        .set(Parameter::Sort, "name")
        .unwrap_err();
    assert!(error.to_string().contains("belongs to searches"), "{error}");
    assert!(search.set(Parameter::Sort, "name:x").is_err());
    assert!(search.set(Parameter::FieldSet, "b r").is_err());
}

#[test]
fn hostile_text_is_refused_on_one_short_line() {
    let megabyte = "a".repeat(1 << 20);
    for text in [
        "",
        " \t\n",
        "exa\0mple.com",
        "example.com\nexample.net",
        "exam\u{202e}elp.com",
        "\u{feff}example.com",
        "entity:..",
        "entity:.",
        "entity/%2e%2e",
        "https://",
        "http://user:pass word@/",
        &megabyte,
        &format!("https://{megabyte}"),
        &"help:".repeat(400),
        &"up:".repeat(600),
    ] {
        let error = refused(text);
        assert!(error.len() < 400, "{}: {error}", error.len());
        assert!(!error.contains(['\n', '\0', '\u{202e}']), "{error:?}");
    }
}

#[test]
fn searches_are_shown_readably() {
    for (text, shown) in [
        (
            "domains?name=b%C3%BC*.example&count=true",
            "domains by name=bü*.example count=true",
        ),
        (
            "ips/reverse_search/entity?fn=A%26B&role=x",
            "ips by entity fn=A&B role=x",
        ),
        ("up:AS1?status=active", "up of AS1 status=active"),
        ("help:com", "help of com"),
    ] {
        assert_eq!(parse(text).shown(), shown);
    }
}

#[test]
fn a_password_in_a_url_is_not_shown() {
    let query = parse("https://user:secret@rdap.example/domain/a.example");
    assert!(!query.shown().contains("secret"));
    assert!(!query.to_string().contains("secret"));
}

fn any_query() -> impl Strategy<Value = String> {
    prop_oneof![
        "([a-zA-Z0-9]{1,10}(-[a-z0-9]{1,5})?\\.){0,3}[a-z]{2,8}\\.?",
        "(_tcp\\.)?[a-zäöüßéàñçøα-ω]{1,12}\\.[a-z]{2,5}",
        any::<std::net::IpAddr>().prop_map(|a| a.to_string()),
        (any::<std::net::IpAddr>(), 0u8..=32).prop_map(|(a, p)| format!("{a}/{p}")),
        any::<u32>().prop_map(|n| format!("AS{n}")),
        "entity:[ -~]{1,40}",
        "(domains|nameservers)[:?](name=)?[a-z]{1,5}\\*?(\\.[a-z]{2,4})?",
        "(entities|ips|autnums):[!-)+-~]{1,20}\\*?",
        "(domains|ips)/reverse_search/entity\\?(handle|fn)=[a-z%2F-]{1,12}(&role=[a-z]{1,4})?",
        "(up|down|top|bottom):(AS[0-9]{1,5}|10\\.[0-9]\\.0\\.0/16|[1-9]\\.10\\.in-addr\\.arpa)(\\?status=active)?",
        "(help|https?):[ -~]{0,20}",
    ]
}

proptest! {
    #[test]
    fn a_path_is_parsed_to_the_same_query(text in any_query()) {
        if let Ok(query) = Query::parse(&text, None) {
            if query.url().is_none() && query.kind() != Kind::Help {
                let path = query.path();
                let again = Query::parse(&path, None);
                prop_assert_eq!(again.as_ref(), Ok(&query), "{} -> {}", text, path);
            }
            prop_assert!(!query.shown().contains(['\n', '\0']));
        }
    }

    #[test]
    fn paths_contain_only_valid_characters(text in any_query()) {
        if let Ok(query) = Query::parse(&text, None) {
            let path = query.path();
            prop_assert!(path.bytes().all(|b| b.is_ascii_graphic()), "{}", path);
            prop_assert!(query.kind() == Kind::Url || !path.split('/').any(|s| s == ".."), "{}", path);
        }
    }

    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,60}|(domains|ips|up|help|entity|domain|ip)[:/?][^a]{0,40}", kind in 0usize..22) {
        let forced = Kind::all().nth(kind);
        match Query::parse(&text, forced) {
            Ok(query) => drop((query.shown(), query.path(), query.key())),
            Err(error) => prop_assert!(error.to_string().len() < 2000),
        }
    }
}
