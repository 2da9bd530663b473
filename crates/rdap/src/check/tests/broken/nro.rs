//! For each rule of the profile of the regional registries, a fixture that follows it, and a change
//! that violates it.

use super::Change;

/// Identifier of the rule, fixture, and change.
pub(in crate::check::tests) const BROKEN: &[(&str, &str, Change)] = &[
    (
        "nro-name-period",
        "nro-domain",
        ("/ldhName", Some(r#""2.0.192.in-addr.arpa""#)),
    ),
    ("nro-conformance", "nro-ip", ("/rdapConformance/0", None)),
    (
        "nro-conformance-cidr0",
        "nro-ip",
        (
            "/rdapConformance",
            Some(r#"["nro_rdap_profile_0", "rdap_level_0", "nro_rdap_profile_asn_flat_0"]"#),
        ),
    ),
    ("nro-asn-model", "nro-ip", ("/rdapConformance/3", None)),
    (
        "nro-asn-models",
        "nro-ip",
        (
            "/rdapConformance/+",
            Some(r#""nro_rdap_profile_asn_hierarchical_0""#),
        ),
    ),
    ("nro-self", "nro-ip", ("/entities/0/links", None)),
    ("nro-notices", "nro-ip", ("/notices", Some(r"[]"))),
    (
        "nro-notice-terms",
        "nro-ip",
        ("/notices/0/links/0/rel", Some(r#""help""#)),
    ),
    ("nro-notice-inaccuracy", "nro-ip", ("/notices/1", None)),
    (
        "nro-error-title",
        "nro-error",
        ("/title", Some(r#""Nothing is here""#)),
    ),
    (
        "nro-error-description",
        "nro-error",
        ("/description", Some(r#"["Not Found"]"#)),
    ),
    ("nro-events", "nro-ip", ("/events/1", None)),
    (
        "nro-status",
        "nro-ip",
        ("/status", Some(r#"["validated"]"#)),
    ),
    (
        "nro-entity-networks",
        "nro-ip",
        ("/entities/0/networks", Some(r"[]")),
    ),
    (
        "nro-entity-networks",
        "nro-entity",
        ("/autnums", Some(r"[]")),
    ),
    ("nro-domain-name", "nro-domain", ("/ldhName", None)),
    ("nro-domain-network", "nro-domain", ("/network", None)),
    (
        "nro-domain-nameservers",
        "nro-domain",
        ("/nameservers", None),
    ),
    (
        "nro-abuse",
        "nro-ip",
        ("/entities/1/roles/0", Some(r#""technical""#)),
    ),
    (
        "nro-abuse-email",
        "nro-ip",
        ("/entities/1/vcardArray/1/3", None),
    ),
    (
        "nro-registrant",
        "nro-ip",
        ("/entities/0/roles/0", Some(r#""technical""#)),
    ),
    ("nro-handle", "nro-ip", ("/handle", None)),
    ("nro-network-members", "nro-ip", ("/ipVersion", None)),
    ("nro-autnum-members", "nro-autnum", ("/endAutnum", None)),
    ("nro-cidr", "nro-ip", ("/cidr0_cidrs", Some(r"[]"))),
    (
        "nro-cidr-covers",
        "nro-ip",
        ("/cidr0_cidrs/0/length", Some(r"25")),
    ),
    (
        "nro-card-kind",
        "nro-ip",
        ("/entities/0/vcardArray/1/2/3", Some(r#""person""#)),
    ),
    (
        "nro-card-kind",
        "nro-ip",
        ("/entities/0/vcardArray/1/2", None),
    ),
    (
        "nro-card-property",
        "nro-ip",
        (
            "/entities/0/vcardArray/1/+",
            Some(r#"["url", {}, "uri", "https://rir.example"]"#),
        ),
    ),
    (
        "nro-card-type",
        "nro-ip",
        ("/entities/0/vcardArray/1/4/2", Some(r#""unknown""#)),
    ),
    (
        "nro-card-label",
        "nro-ip",
        ("/entities/0/vcardArray/1/3/1/label", None),
    ),
    (
        "nro-card-parameter",
        "nro-ip",
        ("/entities/0/vcardArray/1/1/1/sort-as", Some(r#""x""#)),
    ),
    (
        "nro-card-parameter-type",
        "nro-ip",
        ("/entities/1/vcardArray/1/3/1/type", Some(r#""office""#)),
    ),
];
