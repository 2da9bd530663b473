//! For each rule about redactions and of the profiles, a fixture that follows it, and a change that
//! violates it.

use super::Change;

/// Identifier of the rule, fixture, and change.
pub(in crate::check::tests) const BROKEN: &[(&str, &str, Change)] = &[
    (
        "redaction-name",
        "domain-registrar",
        ("/redacted/0/name", Some("{}")),
    ),
    (
        "redaction-method",
        "domain-registrar",
        ("/redacted/0/method", Some(r#""deleted""#)),
    ),
    (
        "redaction-post-path",
        "domain-registrar",
        ("/redacted/0/postPath", None),
    ),
    (
        "redaction-gone",
        "domain-registrar",
        ("/redacted/0/method", None),
    ),
    (
        "redaction-replacement",
        "domain-registrar",
        ("/redacted/3/method", Some(r#""removal""#)),
    ),
    (
        "redaction-language",
        "domain-registrar",
        ("/redacted/0/pathLang", Some(r#""xpath""#)),
    ),
    (
        "redaction-path",
        "domain-registrar",
        ("/redacted/0/postPath", Some(r#""/entities/1""#)),
    ),
    (
        "redaction-reason",
        "domain-registrar",
        ("/redacted/0/reason", Some("{}")),
    ),
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
        "domain-registrar",
        ("/entities/1/vcardArray/1/3/3/6", Some(r#""Canada""#)),
    ),
    (
        "gtld-country-code",
        "domain-registrar",
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
        "domain-registrar",
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
        "domain-registrar",
        ("/entities/1/roles/0", Some(r#""billing""#)),
    ),
    (
        "gtld-tel-type",
        "domain-registrar",
        ("/entities/2/vcardArray/1/2/1/type", None),
    ),
    ("nro-conformance", "ip-v4", ("/rdapConformance/0", None)),
    (
        "nro-asn-models",
        "ip-v4",
        (
            "/rdapConformance",
            Some(
                r#"["rdap_level_0", "cidr0", "nro_rdap_profile_0", "nro_rdap_profile_asn_flat_0", "nro_rdap_profile_asn_hierarchical_0"]"#,
            ),
        ),
    ),
    ("nro-cidr", "ip-v4", ("/cidr0_cidrs", Some("[]"))),
    (
        "nro-cidr-covers",
        "ip-v4",
        ("/cidr0_cidrs/0/length", Some("25")),
    ),
    ("nro-handle", "ip-v4", ("/handle", None)),
];
