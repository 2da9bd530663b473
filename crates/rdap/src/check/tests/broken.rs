//! For each rule of the RFCs, a fixture that follows it, and a change that violates it.

pub(super) mod cards;
pub(super) mod nro;
pub(super) mod profiles;
pub(super) mod redactions;
pub(super) mod searches;

/// The value to set at a pointer; `None` removes the member. A `+` at the end of a pointer appends
/// to a list.
pub(in crate::check::tests) type Change = (&'static str, Option<&'static str>);

/// Identifier of the rule, fixture, and change.
pub(super) const BROKEN: &[(&str, &str, Change)] = &[
    ("conformance-missing", "ip-v6", ("/rdapConformance", None)),
    (
        "conformance-missing-error",
        "error-404",
        ("/rdapConformance", None),
    ),
    (
        "conformance-level",
        "search",
        (
            "/rdapConformance",
            Some(r#"["paging", "sorting", "subsetting"]"#),
        ),
    ),
    (
        "conformance-place",
        "entity",
        ("/networks/0/rdapConformance", Some(r#"["rdap_level_0"]"#)),
    ),
    (
        "conformance-unregistered",
        "help",
        ("/rdapConformance/+", Some(r#""lunarNIC_level_0""#)),
    ),
    (
        "conformance-repeated",
        "help",
        ("/rdapConformance/+", Some(r#""cidr0""#)),
    ),
    (
        "conformance-unclaimed",
        "search",
        (
            "/rdapConformance",
            Some(r#"["rdap_level_0", "sorting", "subsetting"]"#),
        ),
    ),
    ("member-type", "autnum", ("/status", Some(r#""active""#))),
    ("member-null", "nameserver", ("/handle", Some("null"))),
    (
        "class-missing",
        "entity",
        ("/autnums/0/objectClassName", None),
    ),
    (
        "class-value",
        "entity",
        ("/autnums/0/objectClassName", Some(r#""AutNum""#)),
    ),
    ("lang-syntax", "error-404", ("/lang", Some(r#""English!""#))),
    ("handle-empty", "autnum", ("/handle", Some(r#""""#))),
    (
        "port43-syntax",
        "nameserver",
        ("/port43", Some(r#""whois://example.net/""#)),
    ),
    ("link-value", "ip-v6", ("/links/0/value", None)),
    ("link-rel", "ip-v4", ("/links/1/rel", None)),
    ("link-href", "ip-v4", ("/links/1/href", None)),
    (
        "link-uri",
        "ip-v6",
        ("/links/0/value", Some(r#""ip/2001:db8::/32""#)),
    ),
    (
        "link-rel-registered",
        "ip-v4",
        ("/links/1/rel", Some(r#""parent""#)),
    ),
    (
        "link-type-syntax",
        "ip-v4",
        ("/links/1/type", Some(r#""json""#)),
    ),
    (
        "link-related-self",
        "ip-v4",
        (
            "/links/1",
            Some(
                r#"{"value": "https://example.net/ip/192.0.2.1", "rel": "related", "href": "https://example.net/ip/192.0.2.0/24", "type": "application/rdap+json"}"#,
            ),
        ),
    ),
    ("link-self", "autnum", ("/links", None)),
    ("link-self-type", "autnum", ("/links/0/type", None)),
    (
        "link-hreflang",
        "autnum",
        ("/links/0/hreflang", Some(r#"["en_US"]"#)),
    ),
    (
        "notices-place",
        "autnum",
        ("/entities/0/notices", Some("[]")),
    ),
    (
        "notice-description",
        "help",
        ("/notices/0/description", None),
    ),
    (
        "notice-description-empty",
        "help",
        ("/notices/0/description", Some(r#"[" "]"#)),
    ),
    (
        "notice-type-registered",
        "help",
        ("/notices/0/type", Some(r#""terms""#)),
    ),
    (
        "notice-type-fits",
        "entity",
        (
            "/remarks/0/type",
            Some(r#""result set truncated due to excessive load""#),
        ),
    ),
    ("event-action", "autnum", ("/events/0/eventAction", None)),
    ("event-date", "autnum", ("/events/0/eventDate", None)),
    (
        "event-date-syntax",
        "autnum",
        ("/events/0/eventDate", Some(r#""2008-12-31 23:59:59""#)),
    ),
    (
        "event-action-registered",
        "autnum",
        ("/events/0/eventAction", Some(r#""created""#)),
    ),
    (
        "event-actor",
        "entity",
        ("/asEventActor/0/eventActor", Some(r#""somebody""#)),
    ),
    (
        "status-registered",
        "autnum",
        ("/status/0", Some(r#""assigned""#)),
    ),
    ("status-epp", "autnum", ("/status/0", Some(r#""ok""#))),
    (
        "status-spelling",
        "autnum",
        ("/status/0", Some(r#""Active""#)),
    ),
    (
        "status-repeated",
        "autnum",
        ("/status/+", Some(r#""active""#)),
    ),
    (
        "name-missing",
        "domain-variants",
        ("/nameservers/0/ldhName", None),
    ),
    (
        "name-ldh",
        "domain-variants",
        ("/nameservers/0/ldhName", Some(r#""ns1..example.com""#)),
    ),
    (
        "name-a-label",
        "domain-variants",
        ("/nameservers/0/ldhName", Some(r#""xn--a.example.com""#)),
    ),
    (
        "name-unicode",
        "domain-variants",
        (
            "/variants/1/variantNames/0/unicodeName",
            Some(r#""fô\u2024o .example""#),
        ),
    ),
    (
        "name-unicode-plain",
        "domain-variants",
        ("/nameservers/0/unicodeName", Some(r#""ns1.example.com""#)),
    ),
    (
        "name-agree",
        "domain-variants",
        ("/unicodeName", Some(r#""fòo.example""#)),
    ),
    (
        "variant-relation",
        "domain-variants",
        ("/variants/0/relation/0", Some(r#""blocked""#)),
    ),
    (
        "address-v4",
        "nameserver",
        ("/ipAddresses/v4/0", Some(r#""2001:db8::1""#)),
    ),
    (
        "address-v6",
        "nameserver",
        ("/ipAddresses/v6/0", Some(r#""192.0.2.1""#)),
    ),
    (
        "ds-member",
        "domain-registry",
        ("/secureDNS/dsData/0/keyTag", None),
    ),
    (
        "key-member",
        "domain-variants",
        ("/secureDNS/keyData/0/flags", None),
    ),
    (
        "dnssec-range",
        "domain-registry",
        ("/secureDNS/dsData/0/keyTag", Some("65536")),
    ),
    (
        "key-protocol",
        "domain-variants",
        ("/secureDNS/keyData/0/protocol", Some("2")),
    ),
    (
        "ds-digest-hex",
        "domain-registry",
        ("/secureDNS/dsData/0/digest", Some(r#""xyz""#)),
    ),
    (
        "ds-digest-length",
        "domain-registry",
        ("/secureDNS/dsData/0/digestType", Some("4")),
    ),
    (
        "key-base64",
        "domain-variants",
        ("/secureDNS/keyData/0/publicKey", Some(r#""AwE_""#)),
    ),
    (
        "dnssec-unsigned",
        "domain-registry",
        ("/secureDNS/delegationSigned", Some("false")),
    ),
    (
        "dnssec-without-data",
        "domain-variants",
        ("/secureDNS/keyData", None),
    ),
    (
        "role-registered",
        "autnum",
        ("/entities/0/roles/0", Some(r#""owner""#)),
    ),
    (
        "role-repeated",
        "autnum",
        ("/entities/0/roles/+", Some(r#""registrant""#)),
    ),
    ("public-id-type", "entity", ("/publicIds/0/type", None)),
    (
        "public-id-identifier",
        "entity",
        ("/publicIds/0/identifier", None),
    ),
    (
        "entity-empty",
        "entity",
        (
            "/entities",
            Some(r#"[{"objectClassName": "entity", "roles": ["abuse"]}]"#),
        ),
    ),
    (
        "card-head",
        "autnum",
        ("/entities/0/vcardArray/0", Some(r#""card""#)),
    ),
    (
        "card-property",
        "autnum",
        (
            "/entities/0/vcardArray/1/2",
            Some(r#"["email", "text", "joe.user@example.com"]"#),
        ),
    ),
    (
        "card-name-case",
        "autnum",
        ("/entities/0/vcardArray/1/1/0", Some(r#""FN""#)),
    ),
    (
        "card-version",
        "autnum",
        ("/entities/0/vcardArray/1/0", None),
    ),
    ("card-fn", "autnum", ("/entities/0/vcardArray/1/1", None)),
    (
        "card-fn-empty",
        "autnum",
        ("/entities/0/vcardArray/1/1/3", Some(r#""""#)),
    ),
    ("card-adr", "entity", ("/vcardArray/1/5/3/6", None)),
    (
        "card-type",
        "autnum",
        ("/entities/0/vcardArray/1/1/2", Some(r#""string""#)),
    ),
    (
        "card-tel",
        "entity",
        ("/vcardArray/1/6/3", Some(r#""+1-555-555-1234""#)),
    ),
    (
        "card-email",
        "autnum",
        (
            "/entities/0/vcardArray/1/2/3",
            Some(r#""joe at example.com""#),
        ),
    ),
    ("ip-range", "ip-v6", ("/endAddress", None)),
    (
        "ip-address",
        "ip-v6",
        ("/startAddress", Some(r#""2001:db8::/32""#)),
    ),
    (
        "ip-order",
        "ip-v6",
        ("/endAddress", Some(r#""2001:db7::""#)),
    ),
    ("ip-version", "ip-v6", ("/ipVersion", Some(r#""6""#))),
    ("ip-version-fits", "ip-v6", ("/ipVersion", Some(r#""v4""#))),
    ("ip-country", "ip-v6", ("/country", Some(r#""Australia""#))),
    (
        "ip-v6-form",
        "ip-v6",
        ("/startAddress", Some(r#""2001:DB8::""#)),
    ),
    ("country-assigned", "ip-v6", ("/country", Some(r#""XX""#))),
    (
        "cidr-prefix",
        "ip-v4",
        ("/cidr0_cidrs/0/v6prefix", Some(r#""2001:db8::""#)),
    ),
    (
        "cidr-length",
        "ip-v4",
        ("/cidr0_cidrs/0/length", Some("33")),
    ),
    (
        "cidr-host-bits",
        "ip-v4",
        ("/cidr0_cidrs/0/v4prefix", Some(r#""192.0.2.1""#)),
    ),
    ("autnum-range", "autnum", ("/endAutnum", None)),
    (
        "autnum-number",
        "autnum",
        ("/endAutnum", Some("4294967296")),
    ),
    ("autnum-order", "autnum", ("/endAutnum", Some("64495"))),
    ("autnum-country", "autnum", ("/country", Some(r#""au""#))),
    ("error-code", "error-404", ("/errorCode", Some("7"))),
    ("error-title", "error-404", ("/title", Some(r#""""#))),
    ("help-notices", "help", ("/notices", Some("[]"))),
    ("search-one", "search", ("/entitySearchResults", Some("[]"))),
    (
        "paging-total",
        "search",
        ("/paging_metadata/totalCount", Some("1")),
    ),
    (
        "paging-size",
        "search",
        ("/paging_metadata/pageSize", Some("1")),
    ),
    ("paging-next", "search", ("/paging_metadata/links", None)),
    (
        "sort-property",
        "search",
        ("/sorting_metadata/availableSorts/0/property", None),
    ),
    (
        "subset-current",
        "search",
        ("/subsetting_metadata/currentFieldSet", None),
    ),
    (
        "subset-name",
        "search",
        ("/subsetting_metadata/availableFieldSets/0/default", None),
    ),
    (
        "link-uri",
        "ip-v6",
        (
            "/links/0/href",
            Some(r#""https://example.net/ip/2001:db8:: /32""#),
        ),
    ),
    (
        "link-uri",
        "ip-v6",
        ("/links/0/href", Some(r#""https://example.net/%zz""#)),
    ),
    (
        "name-ldh",
        "domain-variants",
        ("/nameservers/0/ldhName", Some(r#""ns_1.example.com""#)),
    ),
    ("member-type", "entity", ("/remarks/0/lang", Some(r"5"))),
    ("help-notices", "help", ("/notices", None)),
    (
        "class-value",
        "autnum",
        ("/objectClassName", Some(r#""wrong""#)),
    ),
    (
        "member-prefix",
        "autnum",
        ("/favouriteColour", Some(r#""red""#)),
    ),
    (
        "member-prefix",
        "autnum",
        ("/links/0/lunarNIC_orbit", Some(r#""low""#)),
    ),
    ("lang-syntax", "error-404", ("/lang", Some(r#""e""#))),
    (
        "conformance-unclaimed",
        "entity",
        (
            "/jscontact_card",
            Some(r#"{"@type": "Card", "version": "2.0"}"#),
        ),
    ),
    (
        "conformance-unclaimed",
        "help",
        ("/reverse_search_properties", Some("[]")),
    ),
    (
        "cidr-covers",
        "ip-v4",
        (
            "/cidr0_cidrs",
            Some(r#"[{"v4prefix": "192.0.2.0", "length": 25}]"#),
        ),
    ),
    (
        "name-unicode",
        "domain-registry",
        ("/unicodeName", Some(r#""BÜCHER.example""#)),
    ),
    (
        "name-unicode",
        "domain-registry",
        ("/unicodeName", Some(r#""bu\u0308cher.example""#)),
    ),
    (
        "ds-digest-length",
        "domain-registry",
        (
            "/secureDNS/dsData/0",
            Some(r#"{"keyTag": 1, "algorithm": 13, "digestType": 5, "digest": "ABC"}"#),
        ),
    ),
    (
        "key-base64",
        "domain-variants",
        ("/secureDNS/keyData/0/publicKey", Some(r#""AwE""#)),
    ),
    (
        "link-uri",
        "autnum",
        ("/links/0/href", Some(r#""https:///autnum/64496""#)),
    ),
    (
        "link-self-type",
        "autnum",
        ("/links/0/type", Some(r#""application/rdap+jsonx""#)),
    ),
    (
        "event-date-syntax",
        "autnum",
        ("/events/0/eventDate", Some(r#""2026-01-01T00:00:60Z""#)),
    ),
];
