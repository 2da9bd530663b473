//! Texts in place of redacted values, which RFC 9537 forbids: clients cannot tell them from values.

use crate::answer::{Class, Node, properties};
use crate::check::{Report, Scene, rules};

rules! { All;
    PLACEHOLDER = "redaction-placeholder", Error, "RFC 9537, section 3": "no text such as 'REDACTED FOR PRIVACY' or 'XXXX' replaces a redacted value";
}

/// Words that are never the real value of a field.
const WHOLE: [&str; 8] = [
    "data redacted",
    "gdpr masked",
    "gdpr redacted",
    "masked",
    "non-public data",
    "not disclosed",
    "not publicly disclosed",
    "statutory masking enabled",
];

/// What can follow "redacted" in such a text, but not in a name.
const REASONS: [&str; 7] = ["for", "by", "due", "per", "under", "as", "data"];

pub(super) fn check(scene: &Scene<'_>, report: &mut Report) {
    // An answer without the extension signals no redactions, so its rules do not apply, unless a
    // profile requires the extension (gTLD RDAP Response Profile 2024, section 2.7.7).
    if !scene.claims("redacted") && !scene.claims("icann_rdap_response_profile_1") {
        return;
    }
    for place in scene.of(&[Class::Entity, Class::Domain]) {
        // "XXXX" is a handle in the examples of the RFCs.
        let handle = place.item.text("handle").filter(|h| is_told(h));
        if let Some(text) = handle {
            report.add(&PLACEHOLDER, format!("{}/handle", place.pointer), text);
        }
        for member in ["vcardArray", "jscontact_card"] {
            let Some(card) = place.item.node().get(member) else {
                continue;
            };
            let found = match member {
                "vcardArray" => properties(card).find_map(|p| p.values.iter().find_map(told)),
                _ => told(card),
            };
            if let Some(text) = found {
                report.add(&PLACEHOLDER, format!("{}/{member}", place.pointer), text);
            }
        }
    }
}

/// The first text, at any depth, that stands for a redacted value.
fn told(node: &Node) -> Option<&str> {
    match node {
        Node::Text(text) => Some(&**text).filter(|text| is_told(text) || is_crossed_out(text)),
        Node::List(items) => items.iter().find_map(told),
        Node::Object(members) => members.iter().find_map(|(_, value)| told(value)),
        _ => None,
    }
}

/// Whether the text says that something is redacted.
fn is_told(text: &str) -> bool {
    let sides = |c: char| !c.is_alphanumeric();
    let text = text.trim_matches(sides).to_lowercase();
    let mut words = text.split(sides).filter(|word| !word.is_empty());
    let redacted = words.next() == Some("redacted");
    let because = words.next().is_none_or(|word| REASONS.contains(&word));
    WHOLE.contains(&&*text) || redacted && because
}

/// Whether the text consists of the letter X or of asterisks only.
fn is_crossed_out(text: &str) -> bool {
    let text = text.trim();
    let only = |letter: char| text.chars().all(|c| c.eq_ignore_ascii_case(&letter));
    text.len() >= 4 && (only('x') || only('*'))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::{is_crossed_out, is_told};
    use crate::answer::Answer;
    use crate::check::{Delivery, check};

    #[test]
    fn placeholders_are_found_where_redactions_must_be_signalled() {
        let is_found = |claimed: &str| {
            let json = serde_json::json!({
                "rdapConformance": ["rdap_level_0", claimed], "objectClassName": "entity",
                "vcardArray": ["vcard", [
                    ["version", {}, "text", "4.0"],
                    ["fn", {}, "text", "REDACTED FOR PRIVACY"],
                ]],
            });
            let answer = Answer::read(Bytes::from(json.to_string())).unwrap();
            let found = check(&answer, &Delivery::default(), &[]);
            found.iter().any(|v| v.check.id == "redaction-placeholder")
        };
        assert!(is_found("redacted") && is_found("icann_rdap_response_profile_1"));
        assert!(!is_found("icann_rdap_response_profile_0") && !is_found("cidr0"));
    }

    #[test]
    fn names_are_not_placeholders() {
        for text in [
            "REDACTED FOR PRIVACY",
            "Redacted",
            "[Redacted]",
            "redacted for privacy purposes",
            "REDACTED (due to GDPR)",
            "Data Redacted",
            "Not Disclosed",
            "Statutory Masking Enabled",
        ] {
            assert!(is_told(text), "{text}");
        }
        for text in [
            "",
            "Redacted Records Ltd",
            "Unredacted",
            "Masked Ball Inc.",
            "Privacy Service",
            "XXXX",
        ] {
            assert!(!is_told(text), "{text}");
        }
        assert!(is_crossed_out("XXXX") && is_crossed_out("******"));
        assert!(!is_crossed_out("XX") && !is_crossed_out("xxx-handle") && !is_crossed_out(""));
    }
}
