//! Changes that violate the rules about the values of cards, of both formats.

use super::Change;

pub(in crate::check::tests) const BROKEN: &[(&str, &str, Change)] = &[
    (
        "card-value",
        "entity",
        ("/vcardArray/1/5/3/5", Some("12345")),
    ),
    (
        "card-value",
        "entity",
        (
            "/vcardArray/1/+",
            Some(r#"["x-seen", {}, "boolean", "true"]"#),
        ),
    ),
    (
        "card-value",
        "entity",
        ("/vcardArray/1/+", Some(r#"["note", {}, "text", null]"#)),
    ),
    (
        "card-parameter",
        "entity",
        ("/vcardArray/1/6/1/pref", Some("1")),
    ),
    (
        "card-parameter",
        "entity",
        ("/vcardArray/1/7/1", Some(r#"{"TYPE": "work"}"#)),
    ),
    (
        "card-parameter-value",
        "entity",
        ("/vcardArray/1/8/1", Some(r#"{"value": "uri"}"#)),
    ),
    (
        "card-group",
        "entity",
        ("/vcardArray/1/7/0", Some(r#""item1.email""#)),
    ),
    (
        "card-begin-end",
        "entity",
        ("/vcardArray/1/+", Some(r#"["end", {}, "text", "VCARD"]"#)),
    ),
    (
        "card-adr",
        "entity",
        (
            "/vcardArray/1/5/3",
            Some(r#"["", "", "", "", "", "", "", ""]"#),
        ),
    ),
    ("card-value", "entity", ("/vcardArray/1/8/3", Some("null"))),
    (
        "card-pref",
        "entity",
        ("/vcardArray/1/6/1/pref", Some(r#""0""#)),
    ),
    (
        "card-once",
        "entity",
        ("/vcardArray/1/+", Some(r#"["kind", {}, "text", "group"]"#)),
    ),
    (
        "card-kind",
        "entity",
        ("/vcardArray/1/2/3", Some(r#""robot""#)),
    ),
    (
        "card-n",
        "entity",
        (
            "/vcardArray/1/+",
            Some(r#"["n", {}, "text", ["User", "Joe"]]"#),
        ),
    ),
    (
        "card-uri",
        "entity",
        ("/vcardArray/1/8/3", Some(r#""www.example.com""#)),
    ),
    (
        "card-language",
        "entity",
        ("/vcardArray/1/3/3", Some(r#""fr_CA""#)),
    ),
    (
        "card-contact-uri",
        "entity",
        (
            "/vcardArray/1/+",
            Some(r#"["contact-uri", {}, "uri", "tel:+1.5555550100"]"#),
        ),
    ),
    (
        "card-contact-uri-pref",
        "domain-registrar",
        (
            "/entities/1/vcardArray/1/+",
            Some(r#"["contact-uri", {}, "uri", "mailto:a@example.com"]"#),
        ),
    ),
    (
        "jscontact-card",
        "entity",
        ("/jscontact_card", Some(r#""Joe""#)),
    ),
    (
        "jscontact-card",
        "entity",
        ("/jscontact_card", Some(r#"{"@type": "Card", "uid": "a"}"#)),
    ),
    (
        "jscontact-uid",
        "entity",
        (
            "/jscontact_card",
            Some(r#"{"@type": "Card", "version": "1.0"}"#),
        ),
    ),
    (
        "jscontact-map",
        "entity",
        (
            "/jscontact_card",
            Some(r#"{"@type": "Card", "version": "2.0", "emails": ["joe@example.com"]}"#),
        ),
    ),
    (
        "jscontact-value",
        "entity",
        (
            "/jscontact_card",
            Some(
                r#"{"@type": "Card", "version": "2.0", "emails": {"a": {"address": "joe at example.com"}}}"#,
            ),
        ),
    ),
    (
        "jscontact-value",
        "entity",
        (
            "/jscontact_card",
            Some(r#"{"@type": "Card", "version": "2.0", "phones": {"a": {"uri": "tel:+1"}}}"#),
        ),
    ),
    (
        "card-property-type",
        "entity",
        (
            "/vcardArray/1/+",
            Some(r#"["contact-uri", {}, "text", "https://example.com/contact"]"#),
        ),
    ),
    (
        "card-cc",
        "entity",
        (
            "/vcardArray/1/+",
            Some(r#"["adr", {"cc": "Canada"}, "text", ["", "", "", "", "", "", ""]]"#),
        ),
    ),
    (
        "card-cc",
        "entity",
        (
            "/vcardArray/1/+",
            Some(r#"["tel", {"cc": "CA"}, "text", "+1.5555551212"]"#),
        ),
    ),
    (
        "card-n",
        "entity",
        (
            "/vcardArray/1",
            Some(
                r#"[["version", {}, "text", "4.0"], ["fn", {}, "text", "Joe User"], ["n", {}, "text", "User"]]"#,
            ),
        ),
    ),
];
