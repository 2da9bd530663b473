//! Whether a JMAP request is harmless, however often it is sent. RFC 8620. If in doubt, it is not.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;

/// A larger body is not read.
pub(crate) const MAX_BODY: u64 = 64 * 1024;

/// RFC 8620 §3.3, without `createdIds`, which only writes need. Unknown or repeated members are
/// errors, because another reader may understand them differently.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JmapRequest<'a> {
    #[serde(rename = "using")]
    _using: Vec<IgnoredAny>,
    #[serde(rename = "methodCalls", borrow)]
    calls: Vec<JmapCall<'a>>,
}

/// Name, arguments, id. RFC 8620 §3.2.
#[derive(Deserialize)]
struct JmapCall<'a>(#[serde(borrow)] Cow<'a, str>, IgnoredAny, IgnoredAny);

/// Whether all calls in the body are reads, by their names in the standard.
pub(crate) fn only_reads(body: &[u8]) -> bool {
    let request = serde_json::from_slice::<JmapRequest<'_>>(body);
    request.is_ok_and(|request| {
        !request.calls.is_empty() && request.calls.iter().all(|call| reads(&call.0))
    })
}

/// RFC 8620 §4, §5; RFC 8621 §4.9, §5.1.
fn reads(name: &str) -> bool {
    let Some((kind, method)) = name.split_once('/') else {
        return false;
    };
    let is_kind = !kind.is_empty() && kind.bytes().all(|b| b.is_ascii_alphanumeric());
    let standard = matches!(method, "get" | "query" | "changes" | "queryChanges");
    is_kind && (standard || matches!(name, "Core/echo" | "Email/parse"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(calls: &str) -> String {
        format!(r#"{{"using":["urn:ietf:params:jmap:core"],"methodCalls":[{calls}]}}"#)
    }

    fn harmless(body: &str) -> bool {
        only_reads(body.as_bytes())
    }

    #[test]
    fn reads_are_harmless() {
        for name in [
            "Core/echo",
            "Email/get",
            "Email/query",
            "Mailbox/changes",
            "Thread/queryChanges",
            "SearchSnippet/get",
            "Email/parse",
        ] {
            let call = format!(r#"["{name}",{{"ids":null}},"0"]"#);
            assert!(harmless(&calls(&call)), "{name}");
            assert!(harmless(&calls(&format!("{call},{call}"))));
        }
    }

    #[test]
    fn one_call_that_is_not_a_read_is_enough() {
        for name in [
            "Email/set",
            "Email/import",
            "Email/copy",
            "EmailSubmission/set",
            "PushSubscription/set",
            "Email/Get",
            "Email/get/set",
            "Email/setget",
            "get",
            "/get",
            "",
            "a b/get",
        ] {
            let read = r#"["Email/get",{},"0"]"#;
            let call = format!(r#"["{name}",{{}},"1"]"#);
            assert!(!harmless(&calls(&format!("{read},{call}"))), "{name}");
        }
    }

    #[test]
    fn ambiguous_batches_are_not_harmless() {
        let read = r#"["Email/get",{},"0"]"#;
        let one = calls(read);
        for body in [
            String::new(),
            "{}".into(),
            "[]".into(),
            calls(""),
            calls(r#"["Email/get",{}]"#),
            calls(r#"["Email/get",{},"0","more"]"#),
            calls(r#"{"0":"Email/get"}"#),
            format!("{one}{one}"),
            format!("{one} x"),
            format!("\u{feff}{one}"),
            one.replace("\"using\"", "\"createdIds\":{},\"using\""),
            one.replace("\"using\"", "\"methodcalls\":[],\"using\""),
            one.replace("\"using\"", &format!("\"methodCalls\":[{read}],\"using\"")),
            one.replace(
                "\"using\"",
                &format!("\"method\\u0043alls\":[{read}],\"using\""),
            ),
            format!("{}{}", "[".repeat(5000), "]".repeat(5000)),
        ] {
            assert!(!harmless(&body), "{body}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_panic_or_pass(bytes: Vec<u8>) {
            proptest::prop_assert!(!only_reads(&bytes));
        }

        #[test]
        fn an_escaped_name_is_the_same_name(write: bool) {
            let name = if write { r"Email\u002fset" } else { r"Email\u002fget" };
            let body = calls(&format!(r#"["{name}",{{}},"0"]"#));
            proptest::prop_assert_eq!(harmless(&body), !write);
        }
    }
}
