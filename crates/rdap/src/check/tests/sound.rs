//! For rules that could easily be too strict, a change of a fixture that does not violate them.

use super::broken::Change;

/// Identifier of the rule, fixture, and change.
pub(super) const SOUND: &[(&str, &str, Change)] = &[
    (
        "link-uri",
        "ip-v6",
        (
            "/links/0/href",
            Some(r#""https://example.net/%C3%BC?a=b&c=(d)#e""#),
        ),
    ),
    (
        "name-ldh",
        "domain-variants",
        ("/nameservers/0/ldhName", Some(r#""ns--1.example.com.""#)),
    ),
    (
        "member-type",
        "entity",
        ("/remarks/0/lang", Some(r#""en""#)),
    ),
    (
        "redaction-name-registered",
        "domain-registrar",
        (
            "/redacted/0/name",
            Some(r#"{"description": "Registrant Nickname"}"#),
        ),
    ),
    (
        "redaction-both-paths",
        "domain-registrar",
        ("/redacted/2/prePath", None),
    ),
    (
        "redaction-path",
        "domain-registrar",
        (
            "/redacted/0/postPath",
            Some(
                r#""$['entities'][?@.roles[0] == \"registrant\" ]..vcardArray[1][?(@[0]=='fn')][-1]""#,
            ),
        ),
    ),
    (
        "redaction-still-there",
        "domain-registrar",
        (
            "/redacted/2/prePath",
            Some(r#""$.entities[?(@.roles[0]=='registrant')].vcardArray[1][?(@[0]=='tel')]""#),
        ),
    ),
    (
        "redaction-still-there",
        "domain-registrar",
        (
            "/redacted/2/prePath",
            Some(r#""$.status[?match(@, 'client.*')]""#),
        ),
    ),
    (
        "redaction-position",
        "domain-registrar",
        ("/redacted/2/prePath", Some(r#""$.entities[7]""#)),
    ),
    (
        "redaction-nowhere",
        "domain-registrar",
        (
            "/redacted/3/replacementPath",
            Some(r#""$.entities[1].vcardArray[1][4][3]""#),
        ),
    ),
    (
        "redaction-not-empty",
        "domain-registrar",
        ("/entities/1/vcardArray/1/3/3/2", Some(r#"["", ""]"#)),
    ),
    (
        "redaction-empty-member",
        "domain-registrar",
        (
            "/redacted/0/postPath",
            Some(r#""$.entities[?(@.roles[0]=='registrant')].vcardArray[1][1][3]""#),
        ),
    ),
    (
        "redaction-optional-property",
        "domain-registrar",
        (
            "/redacted/1/postPath",
            Some(
                r#""$.entities[?(@.roles[0]=='registrant')].vcardArray[1][?(@[0]=='adr')][3][5]""#,
            ),
        ),
    ),
    (
        "redaction-empty",
        "domain-registrar",
        (
            "/redacted/3/replacementPath",
            Some(
                r#""$.entities[?(@.roles[0]=='registrant')].vcardArray[1][?(@[0]=='contact-uri')][3]""#,
            ),
        ),
    ),
    (
        "gtld-country-code",
        "gtld-registrar",
        ("/entities/1/vcardArray/1/3/1/cc", Some(r#""AX""#)),
    ),
    (
        "gtld-status-together",
        "domain-registry",
        (
            "/status",
            Some(r#"["active", "auto renew period", "associated"]"#),
        ),
    ),
    (
        "gtld-status-together",
        "domain-registry",
        (
            "/status",
            Some(r#"["pending renew", "client update prohibited"]"#),
        ),
    ),
    (
        "gtld-status-pending-delete",
        "domain-registry",
        (
            "/status",
            Some(r#"["redemption period", "pending delete"]"#),
        ),
    ),
    (
        "gtld-nameserver-status",
        "gtld-nameserver",
        ("/status", Some(r#"["active"]"#)),
    ),
    (
        "gtld-status-mapped",
        "domain-registry",
        ("/status/+", Some(r#""server hold""#)),
    ),
    (
        "gtld-nameservers",
        "domain-registry",
        ("/status", Some(r#"["inactive"]"#)),
    ),
    (
        "gtld-nameserver-handle",
        "domain-registry",
        ("/nameservers/0/handle", Some(r#""H_1-EXAMPLE""#)),
    ),
    (
        "gtld-contact-handle",
        "domain-registry",
        (
            "/entities/+",
            Some(r#"{"objectClassName": "entity", "handle": "shop 7", "roles": ["reseller"]}"#),
        ),
    ),
    (
        "gtld-redaction-name",
        "gtld-registrar",
        (
            "/redacted/+",
            Some(r#"{"name": {"description": "Admin Name"}}"#),
        ),
    ),
    (
        "gtld-redaction-published",
        "gtld-registrar",
        (
            "/redacted/+",
            Some(r#"{"name": {"type": "Registrant Fax"}}"#),
        ),
    ),
    (
        "gtld-redaction-published",
        "gtld-registrar",
        (
            "/redacted/+",
            Some(r#"{"name": {"type": "Tech Phone"}, "method": "replacementValue"}"#),
        ),
    ),
    (
        "gtld-redaction-email",
        "gtld-registrar",
        (
            "/entities/1/vcardArray/1/4",
            Some(r#"["email", {}, "text", "x@proxy.example"]"#),
        ),
    ),
    (
        "gtld-contact-uri",
        "gtld-registrar",
        (
            "/entities/1/vcardArray/1/4/3",
            Some(r#""http://proxy.example/x""#),
        ),
    ),
    (
        "gtld-street-lines",
        "gtld-entity",
        ("/vcardArray/1/2/3/2", Some(r#""123 Maple Ave""#)),
    ),
    (
        "gtld-fqdn",
        "domain-registry",
        ("/nameservers/1/ldhName", Some(r#""ns2.example.""#)),
    ),
    (
        "gtld-nameserver-registrar",
        "gtld-nameserver",
        (
            "/entities",
            Some(
                r#"[{"objectClassName": "entity", "handle": "not applicable", "roles": ["registrar"]}]"#,
            ),
        ),
    ),
    (
        "gtld-nameserver-registrar-id",
        "gtld-nameserver",
        (
            "/entities",
            Some(
                r#"[{"objectClassName": "entity", "handle": "not applicable", "roles": ["registrar"]}]"#,
            ),
        ),
    ),
    (
        "nro-self",
        "nro-domain",
        ("/nameservers/0/handle", Some(r#""NS1""#)),
    ),
    (
        "nro-status",
        "nro-ip",
        ("/status", Some(r#"["reserved", "validated"]"#)),
    ),
    ("nro-error-title", "nro-error", ("/errorCode", Some(r"418"))),
    (
        "nro-card-type",
        "nro-ip",
        (
            "/entities/0/vcardArray/1/4",
            Some(r#"["tel", {}, "uri", "tel:+1-555-555-0100"]"#),
        ),
    ),
    (
        "nro-card-parameter-type",
        "nro-ip",
        ("/entities/0/vcardArray/1/4/1/type", Some(r#"["CELL"]"#)),
    ),
    (
        "link-rel-registered",
        "nro-ip",
        ("/notices/1/links/0/rel", Some(r#""inaccuracy-report""#)),
    ),
    (
        "member-prefix",
        "ip-v4",
        ("/cidr0_more", Some(r#""a member of the extension""#)),
    ),
    (
        "member-prefix",
        "help",
        ("/rdapConformance/+", Some(r#""lunarNIC_level_0""#)),
    ),
    (
        "card-value",
        "entity",
        (
            "/vcardArray/1/5/3",
            Some(r#"["", "", ["4321 Rue Somewhere", "Suite 1234"], "", "", "", ""]"#),
        ),
    ),
    (
        "card-value",
        "entity",
        (
            "/vcardArray/1/+",
            Some(r#"["x-seen", {}, "boolean", true]"#),
        ),
    ),
    (
        "card-once",
        "entity",
        (
            "/vcardArray/1/+",
            Some(r#"["kind", {"altid": "1"}, "text", "org"]"#),
        ),
    ),
    ("card-uri", "entity", ("/vcardArray/1/8/3", Some(r#""""#))),
    (
        "card-kind",
        "entity",
        ("/vcardArray/1/2/3", Some(r#""x-ship""#)),
    ),
    (
        "jscontact-uid",
        "entity",
        (
            "/jscontact_card",
            Some(r#"{"@type": "Card", "version": "2.0"}"#),
        ),
    ),
    (
        "name-unicode",
        "domain-registry",
        ("/unicodeName", Some(r#""bücher.EXAMPLE.""#)),
    ),
    (
        "link-uri",
        "entity",
        ("/links/0/href", Some(r#""mailto:joe@example.com""#)),
    ),
    (
        "event-date-syntax",
        "autnum",
        ("/events/0/eventDate", Some(r#""2016-12-31T23:59:60Z""#)),
    ),
    (
        "gtld-status-inactive",
        "gtld-nameserver",
        ("/status", Some(r#"["inactive"]"#)),
    ),
    (
        "card-adr",
        "entity",
        (
            "/vcardArray/1/5/3",
            Some(
                r#"["", "", "1 Rue A", "Quebec", "QC", "G1V", "", "", "", "", "1", "Rue A", "", "", "", "", "", ""]"#,
            ),
        ),
    ),
    (
        "card-n",
        "entity",
        (
            "/vcardArray/1/+",
            Some(r#"["n", {}, "text", ["User", "Joe", "", "", "", "", "Jr."]]"#),
        ),
    ),
    (
        "card-tel",
        "entity",
        ("/vcardArray/1/6/3", Some(r#""sip:joe@example.com""#)),
    ),
    (
        "card-group",
        "entity",
        ("/vcardArray/1/7/1", Some(r#"{"group": "item1"}"#)),
    ),
    (
        "card-begin-end",
        "entity",
        ("/vcardArray/1/7/0", Some(r#""x-end""#)),
    ),
    (
        "card-parameter-value",
        "entity",
        ("/vcardArray/1/8/1", Some(r#"{"x-value": "uri"}"#)),
    ),
    (
        "card-value",
        "domain-registrar",
        ("/entities/1/vcardArray/1/4/3", Some("null")),
    ),
    (
        "paging-size",
        "search",
        ("/paging_metadata/pageSize", Some("10")),
    ),
    (
        "card-contact-uri-pref",
        "domain-registrar",
        (
            "/entities/1/vcardArray/1/+",
            Some(r#"["contact-uri", {"pref": "1"}, "uri", "tel:+1.5555550100"]"#),
        ),
    ),
    (
        "sort-metadata",
        "search",
        ("/sorting_metadata", Some(r#"{"currentSort": "name"}"#)),
    ),
    (
        "sort-default",
        "search",
        ("/sorting_metadata/availableSorts/0/default", Some("true")),
    ),
    (
        "conformance-missing",
        "error-404",
        ("/rdapConformance", None),
    ),
    (
        "redaction-post-path",
        "domain-registrar",
        ("/redacted/3/prePath", None),
    ),
    (
        "redaction-still-there",
        "domain-registrar",
        ("/redacted/2/prePath", Some(r#""$.entities[1]""#)),
    ),
    (
        "redaction-still-there-by-position",
        "domain-registrar",
        ("/redacted/2/prePath", Some(r#""$.entities[7]""#)),
    ),
    (
        "redaction-placeholder",
        "domain-registrar",
        (
            "/entities/1/vcardArray/1/2/3",
            Some(r#""Redacted Records Ltd""#),
        ),
    ),
    // Without the extension, no redaction is signalled.
    (
        "redaction-placeholder",
        "entity",
        ("/vcardArray/1/2/3", Some(r#""REDACTED FOR PRIVACY""#)),
    ),
    (
        "redaction-placeholder",
        "domain-registrar",
        ("/entities/2/handle", Some(r#""XXXX""#)),
    ),
    (
        "link-self-type",
        "help",
        (
            "/notices/0/links",
            Some(
                r#"[{"value": "https://a.example/", "rel": "self", "href": "https://a.example/", "type": "text/html"}]"#,
            ),
        ),
    ),
    (
        "link-uri",
        "ip-v6",
        ("/links/0/href", Some(r#""https://a%00b.example/""#)),
    ),
    ("ip-country", "ip-v4", ("/country", Some(r#""AX""#))),
    (
        "redaction-post-path",
        "domain-registrar",
        (
            "/redacted/3",
            Some(r#"{"name": {"type": "Registrant Email"}, "method": "replacementValue"}"#),
        ),
    ),
    ("country-assigned", "ip-v4", ("/country", Some(r#""EU""#))),
    (
        "conformance-unregistered",
        "help",
        ("/rdapConformance/+", Some(r#""rdap_objectTag_level_0""#)),
    ),
    (
        "gtld-extension",
        "domain-registry",
        ("/rdapConformance/+", Some(r#""rdap_objectTag_level_0""#)),
    ),
    (
        "redaction-place",
        "search",
        (
            "/domainSearchResults/0/redacted",
            Some(r#"[{"name": {"type": "Tech Phone"}, "method": "removal"}]"#),
        ),
    ),
    (
        "card-property-type",
        "entity",
        (
            "/vcardArray/1/+",
            Some(r#"["tz", {}, "utc-offset", "-05:00"]"#),
        ),
    ),
    (
        "card-cc",
        "entity",
        (
            "/vcardArray/1/+",
            Some(r#"["adr", {"cc": "ca"}, "text", ["", "", "", "", "", "", ""]]"#),
        ),
    ),
];
