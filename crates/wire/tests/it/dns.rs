//! DNS messages through the public API: known bytes, answers followed, and limits.

use std::net::{IpAddr, Ipv4Addr};

use roundtrip_model::HttpsRecord;
use roundtrip_wire::Error;
use roundtrip_wire::dns::{
    Data, Kind, Message, Name, Query, Rcode, Record, Resolved, Service, Soa, UDP_SIZE,
};

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

fn record(owner: &str, ttl: u32, data: Data) -> Record {
    Record {
        name: name(owner),
        ttl,
        data,
    }
}

fn alias(owner: &str, ttl: u32, target: &str) -> Record {
    record(owner, ttl, Data::Cname(name(target)))
}

fn reply(kind: Kind, answers: Vec<Record>) -> Message {
    let query = Query::new(7, name("www.example.com"), kind);
    let asked = Message::parse(&query.encode().unwrap()).unwrap();
    Message {
        answers,
        ..asked.reply(Rcode::NO_ERROR)
    }
}

#[test]
fn a_query_has_the_bytes_it_should() {
    let query = Query::new(0xabcd, name("WWW.example."), Kind::AAAA);
    let expected = [
        &b"\xab\xcd\x01\x00\x00\x01\x00\x00\x00\x00\x00\x01"[..],
        b"\x03www\x07example\x00\x00\x1c\x00\x01",
        b"\x00\x00\x29\x04\xd0\x00\x00\x00\x00\x00\x00",
    ]
    .concat();
    assert_eq!(query.encode().unwrap(), expected);

    let read = Message::parse(&expected).unwrap();
    assert!(!read.response && read.recursion_desired);
    assert_eq!(read.udp_size, Some(UDP_SIZE));
    assert_eq!(read.questions[0].name, name("www.example"));

    let plain = Query {
        udp_size: None,
        recursion_desired: false,
        ..query
    };
    assert_eq!(plain.encode().unwrap().len(), expected.len() - 11);
}

#[test]
fn a_recorded_answer_is_read() {
    // Compressed as name servers do: the answer's owner points to the question, and the target
    // points into it.
    let bytes = [
        &b"\x00\x07\x81\x80\x00\x01\x00\x02\x00\x00\x00\x00"[..],
        b"\x03www\x07example\x03com\x00\x00\x01\x00\x01",
        b"\xc0\x0c\x00\x05\x00\x01\x00\x00\x01\x2c\x00\x06\x03web\xc0\x10",
        b"\xc0\x2d\x00\x01\x00\x01\x00\x00\x00\x3c\x00\x04\xc0\x00\x02\x01",
    ]
    .concat();
    let message = Message::parse(&bytes).unwrap();
    assert!(message.answers_query(&Query::new(7, name("WWW.Example.com"), Kind::A)));
    assert_eq!(
        message.addresses_for(&name("www.example.com")),
        Ok(Resolved {
            addresses: vec![IpAddr::from([192, 0, 2, 1])],
            aliases: vec![name("web.example.com")],
            ttl: Some(60)
        })
    );
    // Compression writes the same bytes again.
    assert_eq!(message.encode().unwrap(), bytes);
}

#[test]
fn only_the_answer_to_the_question_is_taken() {
    let query = Query::new(7, name("www.example.com"), Kind::A);
    let good = reply(Kind::A, Vec::new());
    assert!(good.answers_query(&query));
    let other_id = Query {
        id: 8,
        ..query.clone()
    };
    assert!(!good.answers_query(&other_id));
    assert!(!reply(Kind::AAAA, Vec::new()).answers_query(&query));
    let mute = |rcode| Message {
        questions: Vec::new(),
        rcode,
        ..good.clone()
    };
    assert!(mute(Rcode::FORMAT_ERROR).answers_query(&query));
    assert!(!mute(Rcode::NO_ERROR).answers_query(&query));
    let echo = Message {
        response: false,
        ..good.clone()
    };
    assert!(!echo.answers_query(&query));
}

#[test]
fn aliases_are_followed_to_their_end() {
    let message = reply(
        Kind::A,
        vec![
            record("c.test", 9, Data::A(Ipv4Addr::new(192, 0, 2, 1))),
            alias("b.test", 5, "C.test"),
            alias("www.example.com", 7, "b.test"),
            record("c.test", 9, Data::A(Ipv4Addr::new(192, 0, 2, 1))),
            record("stranger.test", 1, Data::A(Ipv4Addr::new(192, 0, 2, 66))),
        ],
    );
    let resolved = message.addresses_for(&name("www.example.com")).unwrap();
    assert_eq!(resolved.addresses, [IpAddr::from([192, 0, 2, 1])]);
    assert_eq!(resolved.aliases, [name("b.test"), name("c.test")]);
    assert_eq!(resolved.ttl, Some(5));
    assert_eq!(
        message.addresses_for(&name("nobody.test")),
        Ok(Resolved::default())
    );
}

#[test]
fn a_loop_of_aliases_is_named() {
    let message = reply(
        Kind::A,
        vec![
            alias("www.example.com", 1, "b.test"),
            alias("b.test", 1, "www.example.com"),
        ],
    );
    assert!(matches!(
        message.addresses_for(&name("www.example.com")),
        Err(Error::AliasLoop { .. })
    ));
}

#[test]
fn services_come_in_order_and_only_if_usable() {
    let service = |priority, mandatory: &[u16], port| {
        let service = Service {
            priority,
            port: Some(port),
            mandatory: mandatory.to_vec(),
            others: vec![(77, vec![1])],
            ..Service::default()
        };
        record("www.example.com", 60, Data::Https(service))
    };
    let sent = reply(
        Kind::HTTPS,
        vec![
            service(2, &[3], 8443),
            service(1, &[77], 1),
            service(1, &[], 443),
        ],
    );
    let message = Message::parse(&sent.encode().unwrap()).unwrap();
    let services = message.https_for(&name("www.example.com")).unwrap();
    let ports: Vec<_> = services.iter().map(|s| s.port.unwrap()).collect();
    assert_eq!(ports, [443, 8443]);
}

#[test]
fn an_https_record_of_the_rfc_is_read() {
    // RFC 9460 §D.2, figure 10: 16 foo.example.org mandatory=alpn,ipv4hint alpn=h2,h3-19
    // ipv4hint=192.0.2.1.
    let data = [
        &b"\x00\x10\x03foo\x07example\x03org\x00"[..],
        b"\x00\x00\x00\x04\x00\x01\x00\x04",
        b"\x00\x01\x00\x09\x02h2\x05h3-19",
        b"\x00\x04\x00\x04\xc0\x00\x02\x01",
    ]
    .concat();
    let other = Data::Other {
        kind: Kind::HTTPS,
        bytes: data,
    };
    let sent = reply(Kind::HTTPS, vec![record("www.example.com", 60, other)]);
    let message = Message::parse(&sent.encode().unwrap()).unwrap();
    let services = message.https_for(&name("www.example.com")).unwrap();
    assert_eq!(services[0].mandatory, [1, 4]);
    assert_eq!(
        HttpsRecord::from(services[0]),
        HttpsRecord {
            priority: 16,
            target: "foo.example.org".into(),
            alpn: vec!["h2".into(), "h3-19".into()],
            port: None,
            hints: vec![IpAddr::from([192, 0, 2, 1])],
            ech: false,
        }
    );
}

#[test]
fn malformed_service_parameters_are_refused() {
    for parameters in [
        &b"\x00\x03\x00\x02\x01\xbb\x00\x03\x00\x02\x01\xbb"[..], // a key twice
        b"\x00\x03\x00\x02\x01\xbb\x00\x01\x00\x03\x02h2",        // out of order
        b"\x00\x03\x00\x03\x01\xbb\x00",                          // a port of three bytes
        b"\x00\x04\x00\x00",                                      // no hint
        b"\x00\x04\x00\x05\xc0\x00\x02\x01\x00",                  // a hint and a bit
        b"\x00\x01\x00\x01\x00",                                  // an empty protocol
        b"\x00\x02\x00\x00",                                      // no-default-alpn alone
        b"\x00\x00\x00\x02\x00\x03",                              // mandatory, but absent
        b"\x00\x00\x00\x02\x00\x00",                              // mandatory itself
    ] {
        let bytes = [b"\x00\x01\x00", parameters].concat();
        let other = Data::Other {
            kind: Kind::HTTPS,
            bytes,
        };
        let sent = reply(Kind::HTTPS, vec![record("www.example.com", 60, other)]);
        let read = Message::parse(&sent.encode().unwrap());
        assert!(
            matches!(read, Err(Error::Malformed { .. } | Error::CutShort { .. })),
            "{parameters:02x?}: {read:?}"
        );
    }
}

#[test]
fn an_answer_too_large_for_its_datagram_is_truncated() {
    let address = |n: u8| record("www.example.com", 60, Data::A(Ipv4Addr::new(192, 0, 2, n)));
    let full = reply(Kind::A, (0..200).map(address).collect());
    let bytes = full.encode_within(1232).unwrap();
    assert!(bytes.len() <= 1232);
    let read = Message::parse(&bytes).unwrap();
    assert!(read.truncated && read.answers.is_empty());
    assert_eq!(
        Message::parse(&full.encode_within(65_535).unwrap()),
        Ok(full.clone())
    );

    // Answers that a server cut in the middle of a record are understood as far as they go.
    let cut = Message {
        truncated: true,
        ..full.clone()
    }
    .encode()
    .unwrap();
    assert_eq!(Message::parse(&cut[..100]).unwrap().answers.len(), 4);
    let whole = full.encode().unwrap();
    assert!(Message::parse(&whole[..100]).is_err());
}

#[test]
fn absence_is_remembered_as_long_as_the_zone_says() {
    let soa = Soa {
        primary: name("ns.example.com"),
        mailbox: name("host\\.master.example.com"),
        serial: 1,
        refresh: 2,
        retry: 3,
        expire: 4,
        minimum: 300,
    };
    let message = Message {
        rcode: Rcode::NO_SUCH_NAME,
        authorities: vec![record("example.com", 3600, Data::Soa(soa))],
        ..reply(Kind::A, Vec::new())
    };
    let read = Message::parse(&message.encode().unwrap()).unwrap();
    assert_eq!(
        (read.negative_ttl(), read.rcode.to_string()),
        (Some(300), "NXDOMAIN".into())
    );
}

#[test]
fn response_codes_beyond_four_bits_travel_with_edns() {
    let message = Message {
        rcode: Rcode(23),
        ..reply(Kind::A, Vec::new())
    };
    assert_eq!(
        Message::parse(&message.encode().unwrap()).unwrap().rcode,
        Rcode(23)
    );
    let plain = Message {
        udp_size: None,
        ..message
    };
    assert!(plain.encode().is_err());
}
