//! One line of JSON for each query, with the answers included byte for byte. Only bytes that are
//! not UTF-8 are replaced, because parsers of JSON refuse them.

use serde_json::{Value, json};

use super::subject::trouble;
use super::{LookupResult, Part, raw};
use crate::answer::{Answer, mended};

/// The version of the keys below; keys may be added, but are never renamed.
pub const SCHEMA: &str = "roundtrip/rdap/1";

/// `{"schema", "query", "kind", "status", "server", "error", "answer", "registrar": {"status",
/// "server", "error", "answer"}, "timing", "check"}`, `clear_text` after a server that was asked
/// without TLS, and `other_object` before an answer about another object. Members without a value
/// are left out. The only line break is the last character.
pub fn line(told: &LookupResult<'_>) -> Vec<u8> {
    let mut out = Vec::with_capacity(256);
    out.push(b'{');
    member(&mut out, "schema", &json!(SCHEMA));
    member(&mut out, "query", &json!(told.query));
    member(&mut out, "kind", &json!(told.kind));
    part(&mut out, &told.first);
    if let Some(registrar) = &told.registrar {
        name(&mut out, "registrar");
        out.push(b'{');
        part(&mut out, registrar);
        out.push(b'}');
    }
    for (name, value) in told.beside {
        member(&mut out, name, value);
    }
    out.extend_from_slice(b"}\n");
    out
}

fn part(out: &mut Vec<u8>, part: &Part<'_>) {
    member(out, "status", &json!(part.state.word()));
    if let Some(server) = part.server {
        member(out, "server", &json!(server));
    }
    if part.clear {
        member(out, "clear_text", &json!(true));
    }
    if let Some(other) = part.other {
        member(out, "other_object", &json!(other));
    }
    if let Some(error) = trouble(part) {
        member(out, "error", &json!(error));
    }
    if let Some(answer) = part.answer {
        name(out, "answer");
        splice(answer, out);
    }
}

fn splice(answer: &Answer, out: &mut Vec<u8>) {
    let begin = out.len();
    raw::splice(answer, out);
    let answer = out.split_off(begin);
    out.extend_from_slice(mended(&answer).as_bytes());
}

fn member(out: &mut Vec<u8>, key: &str, value: &Value) {
    name(out, key);
    out.extend_from_slice(value.to_string().as_bytes());
}

/// Writes the key of the next member; our keys need no escapes.
fn name(out: &mut Vec<u8>, key: &str) {
    if out.last() != Some(&b'{') {
        out.push(b',');
    }
    out.push(b'"');
    out.extend_from_slice(key.as_bytes());
    out.extend_from_slice(b"\":");
}
