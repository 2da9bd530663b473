//! Tests of the decoder: each type, each limit, and splitting into pieces.

use proptest::prelude::*;

use super::*;

fn decode(bytes: &[u8]) -> Result<Option<Value>> {
    let mut decoder = Decoder::default();
    decoder.feed(bytes);
    decoder.next_value()
}

fn bulk(text: &str) -> Value {
    Value::Bulk(text.into())
}

#[test]
fn every_type_is_read() {
    let cases: [(&str, Value); 17] = [
        ("+OK\r\n", Value::Simple("OK".into())),
        ("-ERR no\r\n", Value::Error("ERR no".into())),
        ("!5\r\nE\r\nno\r\n", Value::Error("E\r\nno".into())),
        (":-42\r\n", Value::Integer(-42)),
        ("$4\r\na\r\nb\r\n", bulk("a\r\nb")),
        ("$-1\r\n", Value::Null),
        ("*-1\r\n", Value::Null),
        ("_\r\n", Value::Null),
        ("#t\r\n", Value::Boolean(true)),
        (",-1.5e3\r\n", Value::Double(-1500.0)),
        (",inf\r\n", Value::Double(f64::INFINITY)),
        (
            "(-123456789012345678901234567890\r\n",
            Value::BigNumber("-123456789012345678901234567890".into()),
        ),
        (
            "=6\r\ntxt:ab\r\n",
            Value::Verbatim {
                form: *b"txt",
                text: "ab".into(),
            },
        ),
        (
            "*3\r\n:1\r\n*0\r\n~1\r\n$1\r\na\r\n",
            Value::Array(vec![
                Value::Integer(1),
                Value::Array(vec![]),
                Value::Set(vec![bulk("a")]),
            ]),
        ),
        (
            "%1\r\n+k\r\n%0\r\n",
            Value::Map(vec![(Value::Simple("k".into()), Value::Map(vec![]))]),
        ),
        (
            ">2\r\n$10\r\ninvalidate\r\n*1\r\n$3\r\nsid\r\n",
            Value::Push(vec![bulk("invalidate"), Value::Array(vec![bulk("sid")])]),
        ),
        (
            "|1\r\n+ttl\r\n:5\r\n|0\r\n:7\r\n",
            Value::Attributed {
                attributes: vec![(Value::Simple("ttl".into()), Value::Integer(5))],
                value: Box::new(Value::Attributed {
                    attributes: vec![],
                    value: Box::new(Value::Integer(7)),
                }),
            },
        ),
    ];
    for (bytes, value) in cases {
        assert_eq!(decode(bytes.as_bytes()), Ok(Some(value)), "{bytes:?}");
    }
}

#[test]
fn invalid_answers_are_refused() {
    for bytes in [
        "\r\n",
        "+a\n",
        "+a\rb\r\n",
        "?1\r\n",
        ":\r\n",
        ":1.5\r\n",
        ":9223372036854775808\r\n",
        "$?\r\n",
        "*?\r\n",
        "$-2\r\n",
        "$+1\r\na\r\n",
        "$1\r\nab\r\n",
        "$99999999999\r\n",
        "#y\r\n",
        ",infinity\r\n",
        ",\r\n",
        "(12a\r\n",
        "(-\r\n",
        "=3\r\ntxt\r\n",
        "_x\r\n",
        "*1\r\n>0\r\n",
        "|0\r\n>0\r\n",
        ".\r\n",
        ";4\r\nabcd\r\n",
    ] {
        assert!(
            matches!(decode(bytes.as_bytes()), Err(Error::Malformed { .. })),
            "{bytes:?}: {:?}",
            decode(bytes.as_bytes())
        );
    }
}

#[test]
fn each_bound_holds_before_the_bytes_have_come() {
    let limits = RespLimits {
        depth: 2,
        string: 10,
        total: 60,
    };
    let outcome = |bytes: &str| {
        let mut decoder = Decoder::new(limits);
        decoder.feed(bytes.as_bytes());
        decoder.next_value()
    };
    let refused = |bytes: &str| matches!(outcome(bytes), Err(Error::TooLarge { .. }));
    assert!(refused("$11\r\n"));
    assert!(!refused("$10\r\n"));
    assert!(refused("*1\r\n*1\r\n*1\r\n"));
    assert!(!refused("*1\r\n*1\r\n"));
    assert!(refused("*21\r\n"));
    assert!(!refused("*20\r\n"));
    assert!(refused("%11\r\n"));
    let many = format!("*10\r\n{}", "$5\r\nabcde\r\n".repeat(10));
    assert!(refused(&many));
    // The limit applies to each value separately.
    let two = "$10\r\n0123456789\r\n".repeat(4);
    let mut decoder = Decoder::new(limits);
    decoder.feed(two.as_bytes());
    for _ in 0..4 {
        assert_eq!(decoder.next_value(), Ok(Some(bulk("0123456789"))));
    }
    assert!(refused(&"+".repeat(MAX_LINE_LENGTH)));
}

#[test]
fn nothing_is_read_after_an_error() {
    let mut decoder = Decoder::default();
    decoder.feed(b"?\r\n:1\r\n");
    assert!(decoder.next_value().is_err());
    decoder.feed(b":1\r\n");
    assert!(decoder.next_value().is_err());
}

fn value() -> impl Strategy<Value = Value> {
    let bytes = || prop::collection::vec(any::<u8>(), 0..20);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Boolean),
        any::<i64>().prop_map(Value::Integer),
        any::<i32>().prop_map(|n| Value::Double(f64::from(n) / 8.0)),
        "[+-]?[0-9]{1,40}".prop_map(Value::BigNumber),
        "[ -~]{0,20}".prop_map(|t| Value::Simple(t.into())),
        bytes().prop_map(Value::Bulk),
        bytes().prop_map(Value::Error),
        (any::<[u8; 3]>(), bytes()).prop_map(|(form, text)| Value::Verbatim { form, text }),
    ];
    leaf.prop_recursive(3, 40, 6, |inner| {
        let pairs = || prop::collection::vec((inner.clone(), inner.clone()), 0..4);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::Set),
            pairs().prop_map(Value::Map),
            (pairs(), inner.clone()).prop_map(|(attributes, value)| Value::Attributed {
                attributes,
                value: Box::new(value)
            }),
        ]
    })
}

proptest! {
    #[test]
    fn written_values_are_read_back_in_any_pieces(
        values in prop::collection::vec(value(), 1..4),
        pieces in prop::collection::vec(1usize..30, 1..40),
    ) {
        let mut bytes = Vec::new();
        for value in &values {
            value.encode(&mut bytes);
        }
        let mut decoder = Decoder::default();
        let mut seen = Vec::new();
        let mut rest = bytes.as_slice();
        for piece in pieces.iter().cycle() {
            let (now, later) = rest.split_at(rest.len().min(*piece));
            decoder.feed(now);
            while let Some(value) = decoder.next_value().unwrap() {
                seen.push(value);
            }
            rest = later;
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(seen, values);
        prop_assert!(!decoder.is_amid());
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut decoder = Decoder::default();
        for piece in bytes.chunks(7) {
            decoder.feed(piece);
            while let Ok(Some(_)) = decoder.next_value() {}
        }
    }

    /// Bytes that resemble the protocol reach more code than random ones. The result does not
    /// depend on how they are split.
    #[test]
    fn likely_bytes_read_the_same_in_any_pieces(
        text in "([-+:$*_#,(!=%~>|?.;]-?[0-9tf]{0,3}(\r\n|\r\n|\r|\n|[a-z:]{0,4})){0,40}",
        piece in 1usize..9,
    ) {
        let limits = RespLimits { depth: 3, string: 50, total: 300 };
        let read = |piece: usize| {
            let mut decoder = Decoder::new(limits);
            let mut seen = Vec::new();
            for piece in text.as_bytes().chunks(piece) {
                decoder.feed(piece);
                while let Ok(Some(value)) = decoder.next_value() {
                    seen.push(value);
                }
            }
            seen
        };
        prop_assert_eq!(read(piece), read(text.len().max(1)));
    }
}
