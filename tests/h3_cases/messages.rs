//! Requests, with a control stream that says nothing special. RFC 9114 §4, §7, RFC 9204 §4.5.

use super::{Case, DATA, Expected, HEADERS, POST, SOUND, frame, head, request};
use roundtrip_wire::h3::Code;

/// A name and a value.
type Line<'a> = (&'a str, &'a str);

pub(super) fn cases(host: Line<'_>) -> Vec<Case> {
    let all = [frames, lengths, pseudo_headers, fields, sections];
    all.into_iter().flat_map(|cases| cases(host)).collect()
}

fn frames(host: Line<'_>) -> Vec<Case> {
    use Expected::{Answered, Closed, Reset};
    let get = &head(&[&SOUND, &[host]])[..];
    let post = &head(&[&POST, &[host]])[..];
    let data = &frame(DATA, b"abc")[..];
    let trailers = &head(&[&[("x", "y")]])[..];
    let grease: &[u8] = &[0x40, 0x21, 3, 1, 2, 3];
    let unexpected = Closed(Code::H3_FRAME_UNEXPECTED);
    let cut = Closed(Code::H3_FRAME_ERROR);
    let none = Reset(Code::H3_REQUEST_INCOMPLETE);
    let mut cases = vec![
        request("a request", &[get], Answered),
        request("content and trailers", &[post, data, trailers], Answered),
        request(
            "unknown frames",
            &[grease, post, grease, data, grease, trailers, grease],
            Answered,
        ),
        request(
            "empty DATA frames",
            &[post, &[0, 0, 0, 0], data, &[0, 0]],
            Answered,
        ),
        request("DATA before HEADERS", &[data, get], unexpected),
        request("DATA behind trailers", &[post, trailers, data], unexpected),
        request(
            "HEADERS behind trailers",
            &[post, data, trailers, trailers],
            unexpected,
        ),
        request("no HEADERS", &[], none),
        request("unknown frames alone", &[grease], none),
        request("HEADERS that are cut off", &[&get[..20]], cut),
        request("DATA that is cut off", &[post, &data[..6]], cut),
        request("a frame's head that is cut off", &[post, &[0]], cut),
        request(
            "an unknown frame that is cut off",
            &[post, &grease[..5]],
            cut,
        ),
    ];
    for kind in [2, 3, 4, 5, 6, 7, 8, 9, 0xd] {
        let odd = &[kind, 1, 0][..];
        let before = format!("a frame of type {kind:#x} before HEADERS");
        cases.push(request(&before, &[odd, get], unexpected));
        let behind = format!("a frame of type {kind:#x} behind HEADERS");
        cases.push(request(&behind, &[post, odd], unexpected));
    }
    // RFC 9218 §7.2.
    let priority = &[0x80, 0x0f, 7, 0, 1, 0][..];
    cases.push(request("PRIORITY_UPDATE", &[post, priority], unexpected));
    cases
}

fn lengths(host: Line<'_>) -> Vec<Case> {
    let data = &frame(DATA, b"abc")[..];
    let empty = &frame(DATA, b"")[..];
    let post = |length: &str| head(&[&POST, &[host, ("content-length", length)]]);
    let case = |length: &str, frames: &[&[u8]], expected| {
        let head = post(length);
        let frames = [&[&head[..]], frames].concat();
        let name = format!("content-length {length} with {} frames", frames.len() - 1);
        request(&name, &frames, expected)
    };
    let twice = |first: &str, second: &str| {
        let lengths = [("content-length", first), ("content-length", second)];
        let name = format!("content-length {first} and {second}");
        let head = head(&[&POST, &[host], &lengths]);
        request(&name, &[&head, data], Expected::Malformed)
    };
    vec![
        case("3", &[data], Expected::Answered),
        case("6", &[data, data], Expected::Answered),
        case("0", &[], Expected::Answered),
        case("0", &[empty], Expected::Answered),
        case("2", &[data], Expected::Malformed),
        case("", &[data], Expected::Malformed),
        case("+3", &[data], Expected::Malformed),
        case("-3", &[data], Expected::Malformed),
        case("3,3", &[data], Expected::Malformed),
        case("3, 3", &[data], Expected::Malformed),
        case("abc", &[data], Expected::Malformed),
        case("18446744073709551619", &[data], Expected::Malformed),
        twice("3", "3"),
        twice("3", "4"),
        case("4", &[data], Expected::Malformed),
        case("4", &[data, data], Expected::Malformed),
        case("4", &[], Expected::Malformed),
        case("0", &[data], Expected::Malformed),
    ]
}

/// A sound head with another value for one of its fields, or without it.
fn but<'a>(host: Line<'a>, name: &str, value: &'a str) -> Vec<Line<'a>> {
    let lines = [&SOUND, [host].as_slice()].concat();
    let lines = lines.into_iter().map(|line| match line {
        (known, _) if known == name => (known, value),
        line => line,
    });
    lines.filter(|line| line.1 != "none").collect()
}

fn pseudo_headers(host: Line<'_>) -> Vec<Case> {
    use Expected::{Answered, Malformed};
    let but = |name, value| but(host, name, value);
    let mut cases = Vec::new();
    for (name, value) in [SOUND[0], SOUND[1], SOUND[2], host] {
        let lines = head(&[&SOUND, &[host, (name, value)]]);
        cases.push(request(&format!("{name} twice"), &[&lines], Malformed));
        for value in ["none", ""] {
            let lines = head(&[&but(name, value)]);
            let case = format!("{name} that is '{value}'");
            cases.push(request(&case, &[&lines], Malformed));
        }
    }
    let path = (":path", "/other");
    for (case, lines) in [
        ("two paths", [&SOUND, [host, path].as_slice()].concat()),
        ("a method with a space", but(":method", "G ET")),
        ("a path without a slash", but(":path", "a")),
        ("the path of OPTIONS", but(":path", "*")),
        (
            "a user in the authority",
            but(":authority", "user@a.example"),
        ),
        ("a scheme that is not HTTP's", but(":scheme", "ftp")),
        (
            "another host",
            [&SOUND, [host, ("host", "b.example")].as_slice()].concat(),
        ),
        (
            ":status",
            [&SOUND, [host, (":status", "200")].as_slice()].concat(),
        ),
        (
            "an unknown one",
            [&SOUND, [host, (":x", "y")].as_slice()].concat(),
        ),
        (
            "one behind fields",
            [&[("x", "y")], SOUND.as_slice(), &[host]].concat(),
        ),
        (
            "one between fields",
            [&SOUND, [("x", "y"), host].as_slice()].concat(),
        ),
        (
            "extended CONNECT",
            vec![
                (":method", "CONNECT"),
                (":protocol", "websocket"),
                SOUND[1],
                SOUND[2],
                host,
            ],
        ),
        (
            "CONNECT with a path",
            vec![(":method", "CONNECT"), host, SOUND[2]],
        ),
        (
            "CONNECT with a scheme",
            vec![(":method", "CONNECT"), host, SOUND[1]],
        ),
    ] {
        cases.push(request(case, &[&head(&[&lines])], Malformed));
    }
    let connect = head(&[&[(":method", "CONNECT"), host]]);
    cases.push(request("CONNECT", &[&connect], Answered));
    let post = head(&[&POST, &[host]]);
    for line in [(":path", "/"), (":status", "200"), (":x", "y")] {
        let trailers = head(&[&[line]]);
        let case = format!("{} in trailers", line.0);
        cases.push(request(&case, &[&post, &trailers], Malformed));
    }
    cases
}

fn fields(host: Line<'_>) -> Vec<Case> {
    let mut cases = Vec::new();
    let post = head(&[&POST, &[host]]);
    for (name, value, expected) in [
        ("te", "trailers", Expected::Answered),
        ("x", "a\tb", Expected::Answered),
        ("X-Upper", "y", Expected::Malformed),
        ("", "y", Expected::Malformed),
        ("a b", "y", Expected::Malformed),
        ("x", "y\r", Expected::Malformed),
        ("x", "a\nb", Expected::Malformed),
        ("x", "a\0b", Expected::Malformed),
        ("connection", "close", Expected::Malformed),
        ("keep-alive", "timeout=5", Expected::Malformed),
        ("proxy-connection", "keep-alive", Expected::Malformed),
        ("transfer-encoding", "chunked", Expected::Malformed),
        ("upgrade", "websocket", Expected::Malformed),
        ("te", "gzip", Expected::Malformed),
    ] {
        let case = format!("'{}: {}'", name.escape_debug(), value.escape_debug());
        let lines = head(&[&SOUND, &[host, (name, value)]]);
        cases.push(request(&case, &[&lines], expected));
        let trailers = head(&[&[(name, value)]]);
        let case = format!("{case} in trailers");
        cases.push(request(&case, &[&post, &trailers], expected));
    }
    cases
}

fn sections(host: Line<'_>) -> Vec<Case> {
    let mut cases = Vec::new();
    let post = head(&[&POST, &[host]]);
    for (case, section) in [
        (
            "an index that the static table lacks",
            &[0, 0, 0xff, 0x24][..],
        ),
        ("a dynamic line", &[0, 0, 0x80]),
        ("a dynamic name", &[0, 0, 0x40, 0]),
        ("a dynamic line behind the base", &[0, 0, 0x10]),
        ("a dynamic name behind the base", &[0, 0, 0, 0]),
        ("a required insert count", &[1, 0, 0x80]),
        ("a negative base", &[0, 0x80, 0xd1]),
        ("a string that is cut off", &[0, 0, 0x51, 5]),
        ("a code that is not Huffman's", &[0, 0, 0x51, 0x81, 0xfe]),
        ("a prefix that is cut off", &[0]),
        ("an empty section", &[]),
    ] {
        let failed = Expected::Closed(Code::QPACK_DECOMPRESSION_FAILED);
        let frame = frame(HEADERS, section);
        cases.push(request(case, &[&frame], failed));
        let case = format!("{case} in trailers");
        cases.push(request(&case, &[&post, &frame], failed));
    }
    cases
}
