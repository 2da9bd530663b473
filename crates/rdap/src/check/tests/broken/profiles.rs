//! For each rule of the gTLD profile, a fixture that follows it, and a change that violates it.

use super::Change;

/// Identifier of the rule, fixture, and change.
pub(in crate::check::tests) const BROKEN: &[(&str, &str, Change)] = &[
    (
        "gtld-conformance-response",
        "domain-registry",
        ("/rdapConformance/2", None),
    ),
    (
        "gtld-conformance-guide",
        "domain-registry",
        ("/rdapConformance/1", None),
    ),
    (
        "gtld-conformance-old",
        "domain-registry",
        (
            "/rdapConformance/+",
            Some(r#""icann_rdap_response_profile_0""#),
        ),
    ),
    (
        "gtld-country",
        "gtld-registrar",
        ("/entities/1/vcardArray/1/3/3/6", Some(r#""Canada""#)),
    ),
    (
        "gtld-country-code",
        "gtld-registrar",
        ("/entities/1/vcardArray/1/3/1/cc", None),
    ),
    (
        "gtld-handle",
        "domain-registry",
        ("/handle", Some(r#""2138514""#)),
    ),
    (
        "gtld-event-registration",
        "domain-registry",
        ("/events/0", None),
    ),
    (
        "gtld-event-expiration",
        "domain-registry",
        ("/events/1", None),
    ),
    ("gtld-event-update", "domain-registry", ("/events/3", None)),
    (
        "gtld-event-registrar-expiration",
        "gtld-registrar",
        ("/events/1", None),
    ),
    ("gtld-status", "domain-registry", ("/status", Some("[]"))),
    (
        "gtld-status-together",
        "domain-registry",
        ("/status/+", Some(r#""pending transfer""#)),
    ),
    ("gtld-secure-dns", "domain-registry", ("/secureDNS", None)),
    (
        "gtld-secure-dns-data",
        "domain-registry",
        ("/secureDNS/dsData", None),
    ),
    (
        "gtld-nameserver-name",
        "domain-registry",
        ("/nameservers/0/ldhName", None),
    ),
    ("gtld-related", "domain-registry", ("/links/1", None)),
    (
        "gtld-related-domain",
        "domain-registry",
        (
            "/links/1/href",
            Some(r#""https://rdap.registrar.example/""#),
        ),
    ),
    (
        "gtld-notice-status",
        "domain-registry",
        ("/notices/1/title", Some(r#""EPP Status Codes""#)),
    ),
    (
        "gtld-notice-status-rel",
        "domain-registry",
        ("/notices/1/links/0/rel", Some(r#""help""#)),
    ),
    (
        "gtld-notice-form",
        "domain-registry",
        (
            "/notices/2/links/0/href",
            Some(r#""https://www.icann.org/wicf""#),
        ),
    ),
    (
        "gtld-notice-form-rel",
        "domain-registry",
        ("/notices/2/links/0/rel", Some(r#""alternate""#)),
    ),
    (
        "gtld-notice-terms",
        "domain-registry",
        ("/notices/0/links", None),
    ),
    (
        "gtld-registrar",
        "domain-registry",
        ("/entities/0/roles/0", Some(r#""sponsor""#)),
    ),
    (
        "gtld-registrar-name",
        "domain-registry",
        ("/entities/0/vcardArray/1/1/3", Some(r#""""#)),
    ),
    (
        "gtld-registrar-id",
        "domain-registry",
        ("/entities/0/publicIds/0/identifier", Some(r#""one""#)),
    ),
    (
        "gtld-registrar-handle",
        "domain-registry",
        ("/entities/0/handle", Some(r#""2""#)),
    ),
    (
        "gtld-abuse",
        "domain-registry",
        ("/entities/0/entities/0/vcardArray/1/3", None),
    ),
    (
        "gtld-registrar-about",
        "domain-registry",
        ("/entities/0/links", None),
    ),
    (
        "gtld-registrar-about-https",
        "domain-registry",
        (
            "/entities/0/links/0/value",
            Some(r#""http://rdap.registrar.example/""#),
        ),
    ),
    (
        "gtld-registrant",
        "gtld-registrar",
        (
            "/entities/+",
            Some(
                r#"{"objectClassName": "entity", "handle": "R2-EXAMPLE", "roles": ["registrant"]}"#,
            ),
        ),
    ),
    (
        "gtld-tel-type",
        "gtld-registrar",
        ("/entities/2/vcardArray/1/2/1/type", None),
    ),
    (
        "gtld-fqdn",
        "domain-registry",
        ("/nameservers/1/ldhName", Some(r#""ns2""#)),
    ),
    (
        "gtld-conformance-2019",
        "domain-registry",
        (
            "/rdapConformance",
            Some(r#"["rdap_level_0", "icann_rdap_response_profile_0"]"#),
        ),
    ),
    (
        "gtld-extension",
        "domain-registry",
        ("/rdapConformance/+", Some(r#""lunarNIC_level_0""#)),
    ),
    (
        "gtld-script",
        "domain-registry",
        (
            "/notices/0/description",
            Some(r#"["<SCRIPT>alert(1)</SCRIPT>"]"#),
        ),
    ),
    (
        "gtld-street-lines",
        "gtld-entity",
        ("/vcardArray/1/2/3/2", Some(r#""123 Maple Ave\nSuite 901""#)),
    ),
    (
        "gtld-country-code",
        "gtld-registrar",
        ("/entities/1/vcardArray/1/3/1/cc", Some(r#""XX""#)),
    ),
    ("gtld-name-form", "domain-registry", ("/ldhName", None)),
    (
        "gtld-nameservers",
        "domain-registry",
        ("/nameservers", Some(r"[]")),
    ),
    (
        "gtld-nameserver-handle",
        "domain-registry",
        ("/nameservers/0/handle", Some(r#""ns1""#)),
    ),
    (
        "gtld-related-value",
        "domain-registry",
        (
            "/links/1/value",
            Some(r#""https://rdap.registry.example/""#),
        ),
    ),
    (
        "gtld-status-mapped",
        "domain-registry",
        ("/status/+", Some(r#""locked""#)),
    ),
    (
        "gtld-status-together",
        "domain-registry",
        ("/status", Some(r#"["pending renew", "pending update"]"#)),
    ),
    (
        "gtld-status-together",
        "domain-registry",
        ("/status", Some(r#"["active", "server hold"]"#)),
    ),
    (
        "gtld-status-inactive",
        "domain-registry",
        ("/status", Some(r#"["inactive"]"#)),
    ),
    (
        "gtld-status-pending-delete",
        "domain-registry",
        ("/status", Some(r#"["redemption period"]"#)),
    ),
    (
        "gtld-status-pending-delete",
        "domain-registry",
        ("/status", Some(r#"["pending restore"]"#)),
    ),
    (
        "gtld-status-restore",
        "domain-registry",
        (
            "/status",
            Some(r#"["redemption period", "pending restore", "pending delete"]"#),
        ),
    ),
    (
        "gtld-nameserver-status",
        "gtld-nameserver",
        ("/status", Some(r#"["active", "pending update"]"#)),
    ),
    (
        "gtld-contact-status",
        "gtld-entity",
        ("/status", Some(r#"["active", "server update prohibited"]"#)),
    ),
    (
        "gtld-contact-handle",
        "domain-registry",
        (
            "/entities/+",
            Some(r#"{"objectClassName": "entity", "handle": "C1", "roles": ["administrative"]}"#),
        ),
    ),
    (
        "gtld-contact-handle-registrar",
        "gtld-registrar",
        ("/entities/1/handle", Some(r#""C1""#)),
    ),
    (
        "gtld-redaction-name",
        "gtld-registrar",
        (
            "/redacted/0/name",
            Some(r#"{"description": "Registrant Name"}"#),
        ),
    ),
    (
        "gtld-redaction-method",
        "gtld-registrar",
        ("/redacted/0/method", Some(r#""replacementValue""#)),
    ),
    (
        "gtld-redaction-method",
        "gtld-registrar",
        ("/redacted/5/method", Some(r#""removal""#)),
    ),
    (
        "gtld-redaction-published",
        "gtld-registrar",
        (
            "/redacted/+",
            Some(r#"{"name": {"type": "Registrant Organization"}, "method": "removal"}"#),
        ),
    ),
    (
        "gtld-redaction-published",
        "gtld-registrar",
        (
            "/redacted/+",
            Some(r#"{"name": {"type": "Registry Domain ID"}}"#),
        ),
    ),
    (
        "gtld-redaction-email",
        "gtld-registrar",
        ("/entities/1/vcardArray/1/4", None),
    ),
    (
        "gtld-redaction-email",
        "gtld-registrar",
        (
            "/entities/1/vcardArray/1/+",
            Some(r#"["email", {}, "text", "x@proxy.example"]"#),
        ),
    ),
    (
        "gtld-contact-uri",
        "gtld-registrar",
        (
            "/entities/1/vcardArray/1/4/3",
            Some(r#""mailto:x@proxy.example""#),
        ),
    ),
    (
        "gtld-registrant-id",
        "gtld-registrar",
        ("/entities/1/handle", None),
    ),
    (
        "gtld-registrant-name",
        "gtld-registrar",
        ("/redacted/0", None),
    ),
    (
        "gtld-registrant-organization",
        "gtld-registrar",
        ("/entities/1/vcardArray/1/2", None),
    ),
    (
        "gtld-registrant-street",
        "gtld-registrar",
        ("/redacted/1", None),
    ),
    (
        "gtld-registrant-city",
        "gtld-registrar",
        ("/redacted/2", None),
    ),
    (
        "gtld-registrant-postal-code",
        "gtld-registrar",
        ("/redacted/3", None),
    ),
    (
        "gtld-registrant-phone",
        "gtld-registrar",
        ("/redacted/4", None),
    ),
    (
        "gtld-registrant-email",
        "gtld-registrar",
        ("/redacted/5", None),
    ),
    (
        "gtld-tech-id",
        "gtld-registrar",
        ("/entities/2/handle", None),
    ),
    (
        "gtld-tech-name",
        "gtld-registrar",
        ("/entities/2/vcardArray/1/1/3", Some(r#""""#)),
    ),
    (
        "gtld-tech-phone",
        "gtld-registrar",
        ("/entities/2/vcardArray/1/2", None),
    ),
    (
        "gtld-tech-email",
        "gtld-registrar",
        ("/entities/2/vcardArray/1/3", None),
    ),
    ("gtld-entity-registrar", "gtld-entity", ("/handle", None)),
    (
        "gtld-entity-address",
        "gtld-entity",
        ("/vcardArray/1/2/3/3", Some(r#""""#)),
    ),
    ("gtld-entity-contacts", "gtld-entity", ("/entities/0", None)),
    (
        "gtld-entity-contact",
        "gtld-entity",
        ("/entities/0/vcardArray/1/3", None),
    ),
    (
        "gtld-nameserver-registrar",
        "gtld-nameserver",
        ("/entities/0/handle", Some(r#""R-1""#)),
    ),
    (
        "gtld-nameserver-registrar-id",
        "gtld-nameserver",
        ("/entities/0/publicIds", None),
    ),
    ("gtld-help-link", "gtld-help", ("/notices/0/links", None)),
];
