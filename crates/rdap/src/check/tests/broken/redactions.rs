//! For each rule about redactions, a fixture that follows it, and a change that violates it.

use super::Change;

/// Identifier of the rule, fixture, and change.
pub(in crate::check::tests) const BROKEN: &[(&str, &str, Change)] = &[
    (
        "redaction-name",
        "domain-registrar",
        ("/redacted/0/name", Some("{}")),
    ),
    (
        "redaction-placeholder",
        "domain-registrar",
        (
            "/entities/1/vcardArray/1/2/3",
            Some(r#""REDACTED FOR PRIVACY""#),
        ),
    ),
    (
        "redaction-placeholder",
        "gtld-registrar",
        ("/entities/1/vcardArray/1/3/3/2", Some(r#"["XXXX", ""]"#)),
    ),
    (
        "redaction-placeholder",
        "domain-registrar",
        ("/entities/2/handle", Some(r#""Redacted""#)),
    ),
    (
        "redaction-still-there-by-position",
        "domain-registrar",
        ("/redacted/2/prePath", Some(r#""$.entities[1]""#)),
    ),
    (
        "redaction-still-there-by-position",
        "domain-registrar",
        (
            "/redacted/2/prePath",
            Some(r#""$.entities[?(@.roles[0]=='technical')].vcardArray[1][2]""#),
        ),
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
        "redaction-name-registered",
        "domain-registrar",
        (
            "/redacted/0/name",
            Some(r#"{"type": "Registrant Nickname"}"#),
        ),
    ),
    (
        "redaction-both-paths",
        "domain-registrar",
        ("/redacted/0/prePath", Some(r#""$.entities[7]""#)),
    ),
    (
        "redaction-path",
        "domain-registrar",
        (
            "/redacted/0/postPath",
            Some(r#""$.entities[?(@.roles[*]=='registrant')]""#),
        ),
    ),
    (
        "redaction-still-there",
        "domain-registrar",
        ("/redacted/2/prePath", Some(r#""$.handle""#)),
    ),
    (
        "redaction-still-there",
        "domain-registrar",
        (
            "/redacted/3/prePath",
            Some(r#""$.entities[?(@.roles[0]=='registrant')].vcardArray[1][?(@[0]=='org')]""#),
        ),
    ),
    (
        "redaction-position",
        "domain-registrar",
        (
            "/redacted/2/prePath",
            Some(r#""$.entities[?(@.roles[0]=='registrant')].vcardArray[1][?(@[0]=='note')][3]""#),
        ),
    ),
    (
        "redaction-nowhere",
        "domain-registrar",
        (
            "/redacted/0/postPath",
            Some(r#""$.entities[7].vcardArray[1][1][3]""#),
        ),
    ),
    (
        "redaction-nowhere",
        "domain-registrar",
        (
            "/redacted/3/replacementPath",
            Some(r#""$.entities[?(@.roles[0]=='registrant')].vcardArray[1][?(@[0]=='url')]""#),
        ),
    ),
    (
        "redaction-not-empty",
        "domain-registrar",
        (
            "/redacted/0/postPath",
            Some(r#""$.entities[2].vcardArray[1][?(@[0]=='fn')][3]""#),
        ),
    ),
    (
        "redaction-not-empty",
        "domain-registrar",
        (
            "/redacted/1/postPath",
            Some(
                r#""$.entities[?(@.roles[0]=='registrant')].vcardArray[1][?(@[0]=='adr')][3][:5]""#,
            ),
        ),
    ),
    (
        "redaction-empty-member",
        "domain-registrar",
        ("/redacted/0/postPath", Some(r#""$.entities[1].handle""#)),
    ),
    (
        "redaction-optional-property",
        "domain-registrar",
        (
            "/redacted/0/postPath",
            Some(r#""$.entities[?(@.roles[0]=='registrant')].vcardArray[1][?(@[0]=='org')][3]""#),
        ),
    ),
    (
        "redaction-empty",
        "domain-registrar",
        ("/redacted/0/method", Some(r#""partialValue""#)),
    ),
    (
        "redaction-path",
        "domain-registrar",
        ("/redacted/2/prePath", Some(r#""""#)),
    ),
    (
        "redaction-place",
        "domain-registrar",
        (
            "/entities/0/redacted",
            Some(r#"[{"name": {"type": "Tech Phone"}, "method": "removal"}]"#),
        ),
    ),
    (
        "redaction-place",
        "search",
        (
            "/redacted",
            Some(r#"[{"name": {"type": "Tech Phone"}, "method": "removal"}]"#),
        ),
    ),
];
