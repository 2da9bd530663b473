//! Fuzzes the heads of backends' answers: the head that is passed on to the client has one length
//! and no hop-by-hop fields.
#![no_main]

#[path = "../../crates/gate/tests/it/smuggling/reader.rs"]
#[allow(dead_code)]
mod reader;

use libfuzzer_sys::fuzz_target;
use reader::{Kind, messages};
use roundtrip_gate::fuzzing::{ParsedFraming, response};

fuzz_target!(|bytes: &[u8]| {
    let Some((flags, bytes)) = bytes.split_first() else {
        return;
    };
    let of_head = flags & 1 == 1;
    let Some(answer) = response(bytes, of_head) else {
        return;
    };
    let mut wire = format!("HTTP/1.1 {} {}\r\n", answer.status, answer.reason).into_bytes();
    for (name, value) in &answer.fields {
        for hop in [
            "connection",
            "keep-alive",
            "te",
            "trailer",
            "transfer-encoding",
            "upgrade",
            "proxy-connection",
        ] {
            assert!(!name.eq_ignore_ascii_case(hop));
        }
        wire.extend_from_slice(&[name.as_bytes(), b": ", value, b"\r\n"].concat());
    }
    let body = match answer.body {
        // The answer to HEAD has a length and no body.
        ParsedFraming::None if of_head => return,
        ParsedFraming::None => "",
        ParsedFraming::Length(length) if length > 4096 => return,
        ParsedFraming::Length(length) => &"x".repeat(length as usize),
        ParsedFraming::Chunked | ParsedFraming::UntilClose => {
            wire.extend_from_slice(b"Transfer-Encoding: chunked\r\n");
            "1\r\nx\r\n0\r\n\r\n"
        }
    };
    wire.extend_from_slice(b"\r\n");
    wire.extend_from_slice(body.as_bytes());
    let no_length = answer.body == ParsedFraming::None
        && !answer
            .fields
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    // Where nothing says so, a strict reader takes all that comes.
    let ends = !no_length || matches!(answer.status, 100..=199 | 204 | 304);
    assert!(ends, "{answer:?}");
    wire.extend_from_slice(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    let (all, rest) = messages(&wire, Kind::Response).expect("strict");
    assert!(all.len() == 2 && rest.is_empty(), "{all:?}");
});
