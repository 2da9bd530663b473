//! Fuzzes what a client sends to gate: all readers see the same request in what is passed on, with
//! one host, one length and no hop-by-hop fields, and the client cannot choose its user.
#![no_main]

#[path = "../../crates/gate/tests/it/smuggling/reader.rs"]
#[allow(dead_code)]
mod reader;

use libfuzzer_sys::fuzz_target;
use reader::{Kind, Message, messages};
use roundtrip_gate::fuzzing::{ParsedFraming, RequestSettings, request};

const LOGIN: &[u8] = b"Basic dTpw";
/// The fields of one hop, or read as such behind CGI.
const HOP: [&str; 14] = [
    "te",
    "trailer",
    "keep-alive",
    "keep_alive",
    "proxy-connection",
    "proxy_connection",
    "proxy-authorization",
    "proxy-authenticate",
    "proxy_authorization",
    "content_length",
    "transfer_encoding",
    "x_forwarded_for",
    "early_data",
    "forwarded",
];

fuzz_target!(|bytes: &[u8]| {
    let Some((flags, bytes)) = bytes.split_first() else {
        return;
    };
    let flag = |bit: u8| flags >> bit & 1 == 1;
    let way = RequestSettings {
        framed: flag(0),
        trusted: flag(1),
        upgrades: flag(2),
        early: flag(3),
        authorization: flag(4).then_some(LOGIN),
    };
    let Some(passed) = request(bytes, &way) else {
        return;
    };
    assert!(passed.used <= bytes.len());
    let mut wire = passed.head.clone();
    let body = match passed.body {
        ParsedFraming::None => Vec::new(),
        // Its length is looked at without a body that long.
        ParsedFraming::Length(length) if length > 4096 => {
            let line = format!("\r\nContent-Length: {length}\r\n");
            assert_eq!(String::from_utf8_lossy(&wire).matches(&line).count(), 1);
            return;
        }
        ParsedFraming::Length(length) => vec![b'x'; length as usize],
        ParsedFraming::Chunked | ParsedFraming::UntilClose => b"1\r\nx\r\n0\r\n\r\n".to_vec(),
    };
    wire.extend_from_slice(&body);
    let after = b"GET /after HTTP/1.1\r\nHost: a\r\n\r\n";
    wire.extend_from_slice(after);
    let (all, rest) = messages(&wire, Kind::Request).expect("strict");
    assert!(all.len() == 2 && rest.is_empty(), "{all:?}");
    check(&all[0], &way, &passed.host, &passed.path);
});

fn check(sent: &Message, way: &RequestSettings<'_>, host: &str, path: &str) {
    let count = |name: &str| sent.values(name).count();
    assert_eq!(sent.value("host"), host);
    assert!(sent.asked().ends_with(&format!(" {path}")), "{sent:?}");
    assert!(path == "*" || path.starts_with('/') && !path.starts_with("//"));
    for name in HOP {
        let believed = way.trusted && (name.starts_with("x_") || name == "forwarded");
        assert!(believed || count(name) == 0, "{name}: {sent:?}");
    }
    if way.authorization.is_some() {
        assert_eq!(
            sent.values("authorization").collect::<Vec<_>>(),
            ["Basic dTpw"]
        );
    }
    if !way.trusted {
        assert_eq!(
            sent.values("x-forwarded-for").collect::<Vec<_>>(),
            ["127.0.0.1"]
        );
        assert_eq!(count("x-forwarded-proto"), 1);
    }
    let upgrade = sent.value("upgrade");
    assert_eq!(count("upgrade"), usize::from(!upgrade.is_empty()));
    assert!(way.upgrades && !way.framed || upgrade.is_empty());
    assert!(!upgrade.eq_ignore_ascii_case("h2c"));
    let connection: Vec<&str> = sent.values("connection").collect();
    assert!(
        matches!(connection.as_slice(), [] | ["keep-alive"] | ["upgrade"]),
        "{sent:?}"
    );
    assert!(count("expect") <= 1 && count("early-data") <= 1);
}
