//! Messages by hand; gate's tests use Envoy's own definitions.

use super::*;

fn nested(number: u64, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    protobuf::bytes(&mut out, number, bytes);
    out
}

fn pair(name: &str, value: &[u8], value_number: u64) -> Vec<u8> {
    [nested(1, name.as_bytes()), nested(value_number, value)].concat()
}

/// Makes a call about the request with these fields of `HttpRequest`.
fn call(http: &[Vec<u8>]) -> Vec<u8> {
    let request = nested(4, &nested(2, &http.concat()));
    let source = nested(1, &nested(1, &nested(1, &nested(2, b"192.0.2.7"))));
    framed(|out| protobuf::bytes(out, 1, &[source, request].concat()))
}

fn usual() -> Vec<Vec<u8>> {
    vec![
        nested(2, b"GET"),
        nested(4, b"/a?b"),
        nested(5, b"a.example:8443"),
        nested(6, b"https"),
        nested(3, &pair(":path", b"/a?b", 2)),
        nested(3, &pair("cookie", b"x=y", 2)),
    ]
}

#[test]
fn a_request_is_read_and_pseudo_fields_are_none() {
    let call = call(&usual());
    let request = CheckRequest::parse(&call).unwrap();
    let expected = CheckRequest {
        method: "GET",
        path: "/a?b",
        host: "a.example:8443",
        scheme: "https",
        client: "192.0.2.7",
        fields: vec![("cookie", b"x=y".as_slice())],
    };
    assert_eq!(request, expected);
}

#[test]
fn raw_fields_are_read_and_never_mixed_with_others() {
    let raw = nested(13, &nested(1, &pair("cookie", b"\xff", 3)));
    let message = call(std::slice::from_ref(&raw));
    let request = CheckRequest::parse(&message).unwrap();
    assert_eq!(request.fields, [("cookie", b"\xff".as_slice())]);
    let both = call(&[usual(), vec![raw]].concat());
    assert!(CheckRequest::parse(&both).is_err());
}

#[test]
fn unknown_fields_are_skipped() {
    let mut more = Vec::new();
    protobuf::number(&mut more, 9, u64::MAX);
    let fixed = [vec![15 << 3 | 1], vec![0; 8], vec![15 << 3 | 5], vec![0; 4]].concat();
    let message = call(&[usual(), vec![more, fixed, nested(99, b"?")]].concat());
    assert_eq!(CheckRequest::parse(&message).unwrap().path, "/a?b");
}

#[test]
fn ambiguous_requests_are_refused() {
    for wrong in [
        nested(4, b"/other"),
        nested(2, b"POST"),
        nested(6, b"\xff"),
        vec![4 << 3, 1],
        vec![3 << 3 | 3],
        vec![
            9 << 3,
            0xff,
            0xff,
            0xff,
            0xff,
            0xff,
            0xff,
            0xff,
            0xff,
            0xff,
            0xff,
            1,
        ],
    ] {
        let message = call(&[usual(), vec![wrong.clone()]].concat());
        assert!(CheckRequest::parse(&message).is_err(), "{wrong:?}");
    }
    let good = call(&usual());
    let mut compressed = good.clone();
    compressed[0] = 1;
    for wrong in [compressed, [good.clone(), vec![0]].concat(), Vec::new()] {
        assert!(CheckRequest::parse(&wrong).is_err());
    }
    for end in 0..good.len() {
        assert!(CheckRequest::parse(&good[..end]).is_err(), "{end}");
    }
}

#[test]
fn answers_have_the_numbers_of_the_definition() {
    let allowed = write_allowed([("a", b"b".as_slice())].into_iter(), ["c"].into_iter());
    let option = [nested(1, &pair("a", b"b", 2)), vec![3 << 3, 2]].concat();
    let ok = [nested(2, &option), nested(5, b"c")].concat();
    let expected = framed(|out| out.extend([nested(1, b""), nested(3, &ok)].concat()));
    assert_eq!(allowed, expected);
    let denied = write_denied(401, std::iter::empty(), b"no");
    let status = nested(1, &[1 << 3, 0x91, 3]);
    let message = [
        nested(1, &[1 << 3, 7]),
        nested(2, &[status, nested(3, b"no")].concat()),
    ];
    assert_eq!(denied, framed(|out| out.extend(message.concat())));
}

proptest::proptest! {
    #[test]
    fn whatever_comes_is_judged(body: Vec<u8>) {
        let _ = CheckRequest::parse(&body);
    }
}
