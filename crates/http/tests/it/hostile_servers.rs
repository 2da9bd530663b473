//! HTTP/3 servers that send unrequested data: the client stops reading it, however much comes. And
//! servers that violate rules: the client closes with the error code of the RFC.

use std::net::UdpSocket;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use roundtrip_http::{Connection, HttpError, Quic, Tokens};
use roundtrip_model::Recorder;
use roundtrip_quic::{CloseReason, ServerConfig, Transport};
use roundtrip_quic_tokio::{Connection as QuicConnection, Endpoint, StreamError};
use roundtrip_tls::{Client, Roots};
use roundtrip_wire::h3::Code;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::time::{sleep, timeout};

use crate::requests::{ask, h3_offer, recorder};

/// A frame that is as long as frames can be: type, and length in eight bytes. RFC 9114, section
/// 7.1.
const ENDLESS: [u8; 8] = [0xff; 8];
const HEADERS: u8 = 0x01;
/// Reserved: it means nothing. Section 7.2.8.
const GREASE: u8 = 0x21;
/// HEADERS with `:status 200` of QPACK's static table.
const OK: [u8; 5] = [HEADERS, 3, 0, 0, 0xd9];
/// More bytes than any client should accept.
const FLOOD: usize = 64 << 20;
/// The time limit for what must happen.
const PATIENCE: Duration = Duration::from_mins(1);

pub(crate) fn server() -> Endpoint {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    tls.alpn_protocols = vec![b"h3".to_vec()];
    let config = ServerConfig::new(Arc::new(tls), Arc::new(Transport::default()));
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let engine = roundtrip_quic::Endpoint::new(Some(config), [3; 32]);
    Endpoint::new(socket, engine).unwrap()
}

/// Answers with these bytes and then a flood; returns how much of it was taken.
async fn flood(connection: QuicConnection, answer: Vec<u8>) -> usize {
    let (mut sending, _receiving) = connection.accept_bi().await.unwrap();
    sending.write_chunk(answer.into()).await.unwrap();
    let drop = Bytes::from(vec![0; 1 << 16]);
    let mut taken = 0;
    while taken < FLOOD {
        match sending.write_chunk(drop.clone()).await {
            Ok(()) => taken += drop.len(),
            Err(StreamError::Stopped(_)) => return taken,
            Err(other) => panic!("{other}"),
        }
    }
    taken
}

pub(crate) async fn connect(
    server: &Endpoint,
    recorder: &Recorder,
) -> (Connection, QuicConnection) {
    let client = Client::new(Roots::Anything, None).unwrap();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let tokens = Tokens::default();
    let (peer, host) = (server.local_addr(), "localhost");
    let begun = Quic::begin(peer, socket, host, &client, &h3_offer(), &tokens, recorder);
    let quic = begun.unwrap().opened();
    let answering = async { server.accept().await.unwrap().accept() };
    let (quic, met) = tokio::join!(quic, answering);
    (Connection::H3(quic.unwrap()), met)
}

#[tokio::test]
async fn a_frame_that_never_ends_is_not_gathered() {
    let server = server();
    let recorder = recorder();
    for (before, kind) in [(vec![], HEADERS), (vec![], GREASE), (OK.to_vec(), GREASE)] {
        let (mut connection, met) = connect(&server, &recorder).await;
        let is_head = before.is_empty();
        let answer = [before, vec![kind], ENDLESS.to_vec()].concat();
        let flooding = tokio::spawn(flood(met, answer));
        let asked = ask(&mut connection, "GET", "https://localhost/", &recorder).await;
        let error = asked.0.unwrap_err();
        assert_eq!(
            matches!(error, HttpError::HeadTooLarge { .. }),
            is_head,
            "{error}"
        );
        assert_eq!(
            error.to_string().contains("unknown types"),
            !is_head,
            "{error}"
        );
        assert!(flooding.await.unwrap() < FLOOD);
        connection.close().await;
    }
}

/// What a server sends, and the code with which a client has to close the connection. `None`: the
/// response alone is malformed.
struct Violation {
    name: &'static str,
    /// On streams of one direction.
    streams: Vec<Vec<u8>>,
    /// These streams end.
    ends: bool,
    /// The server begins a stream of two directions.
    begins: bool,
    /// In answer to the request.
    answer: Vec<u8>,
    code: Option<Code>,
}

const SETTINGS: [u8; 3] = [0, 4, 0];

fn on_streams(name: &'static str, streams: &[&[u8]], code: Code) -> Violation {
    Violation {
        name,
        streams: streams.iter().map(|bytes| bytes.to_vec()).collect(),
        ends: false,
        begins: false,
        answer: vec![],
        code: Some(code),
    }
}

fn in_answer(name: &'static str, frames: &[&[u8]], code: Option<Code>) -> Violation {
    Violation {
        name,
        streams: vec![SETTINGS.to_vec()],
        ends: false,
        begins: false,
        answer: frames.concat(),
        code,
    }
}

/// A head with a field. RFC 9204, section 4.5.6.
fn with(name: &str, value: &str) -> Vec<u8> {
    let length = u8::try_from(name.len()).unwrap();
    let mut section = vec![0, 0, 0xd9];
    match length {
        short @ 0..7 => section.push(0x20 | short),
        long => section.extend([0x27, long - 7]),
    }
    section.extend(name.as_bytes());
    section.push(u8::try_from(value.len()).unwrap());
    section.extend(value.as_bytes());
    let length = u8::try_from(section.len()).unwrap();
    assert!(length < 0x40);
    [vec![HEADERS, length], section].concat()
}

fn of_streams() -> Vec<Violation> {
    let wrong = |name, settings: &[u8]| {
        let control = [&[0, 4], settings].concat();
        on_streams(name, &[&control], Code::H3_SETTINGS_ERROR)
    };
    let ended = |name, streams: &[&[u8]]| Violation {
        ends: true,
        ..on_streams(name, streams, Code::H3_CLOSED_CRITICAL_STREAM)
    };
    vec![
        wrong("HTTP/2's ENABLE_PUSH", &[2, 2, 0]),
        wrong("HTTP/2's MAX_CONCURRENT_STREAMS", &[2, 3, 1]),
        wrong("HTTP/2's INITIAL_WINDOW_SIZE", &[2, 4, 1]),
        wrong("HTTP/2's MAX_FRAME_SIZE", &[2, 5, 1]),
        wrong("a setting twice", &[4, 6, 1, 6, 1]),
        ended("a control stream that ends", &[&SETTINGS]),
        ended("an encoder that ends", &[&[2]]),
        ended("a decoder that ends", &[&[3]]),
        on_streams("no SETTINGS", &[&[0, 7, 1, 0]], Code::H3_MISSING_SETTINGS),
        Violation {
            begins: true,
            ..on_streams(
                "a stream of two directions",
                &[&SETTINGS],
                Code::H3_STREAM_CREATION_ERROR,
            )
        },
    ]
}

fn of_fields() -> Vec<Violation> {
    let fields = [
        ("connection", "close"),
        ("transfer-encoding", "chunked"),
        ("upgrade", "h2c"),
        ("Server", "x"),
        ("server", "x\ny"),
    ];
    let fields = fields.iter();
    fields
        .map(|(name, value)| in_answer(name, &[&with(name, value)], None))
        .collect()
}

fn violations() -> Vec<Violation> {
    let on_control = |name, frames: &[u8], code| {
        let control = [&SETTINGS, frames].concat();
        on_streams(name, &[&control], code)
    };
    let on_stream = |name, bytes: &[u8], code| on_streams(name, &[&SETTINGS, bytes], code);
    let (data, trailers) = (&[0, 1, b'a'][..], &[1, 3, 0, 0, 0xc2][..]);
    let unexpected = Code::H3_FRAME_UNEXPECTED;
    let mut all = vec![
        on_control("SETTINGS twice", &[4, 0], unexpected),
        on_control("MAX_PUSH_ID", &[0xd, 1, 0], unexpected),
        on_control("a frame of HTTP/2", &[6, 1, 0], unexpected),
        on_control("CANCEL_PUSH", &[3, 1, 0], Code::H3_ID_ERROR),
        on_control("GOAWAY of no request", &[7, 1, 1], Code::H3_ID_ERROR),
        on_control("GOAWAY that grows", &[7, 1, 4, 7, 1, 8], Code::H3_ID_ERROR),
        on_stream("a push", &[1, 0], Code::H3_ID_ERROR),
        on_stream("two control streams", &[0], Code::H3_STREAM_CREATION_ERROR),
        on_stream(
            "an insert",
            &[2, 0x41, b'x', 0],
            Code::QPACK_ENCODER_STREAM_ERROR,
        ),
        on_stream("an increment", &[3, 1], Code::QPACK_DECODER_STREAM_ERROR),
        in_answer("DATA first", &[data], Some(unexpected)),
        in_answer(
            "DATA behind trailers",
            &[&OK, trailers, data],
            Some(unexpected),
        ),
        in_answer("SETTINGS", &[&OK, &[4, 0]], Some(unexpected)),
        in_answer("a promise", &[&[5, 1, 0]], Some(Code::H3_ID_ERROR)),
        in_answer(
            "half a frame",
            &[&OK, &data[..2]],
            Some(Code::H3_FRAME_ERROR),
        ),
        in_answer(
            "a dynamic line",
            &[&[1, 3, 0, 0, 0x80]],
            Some(Code::QPACK_DECOMPRESSION_FAILED),
        ),
        in_answer("no status", &[trailers], None),
        in_answer("two statuses", &[&[1, 4, 0, 0, 0xd9, 0xd9]], None),
        in_answer("a method", &[&[1, 4, 0, 0, 0xd9, 0xd1]], None),
        in_answer("101", &[&[1, 8, 0, 0, 0x5f, 9, 3, b'1', b'0', b'1']], None),
        in_answer("a status in trailers", &[&OK, &OK], None),
        in_answer(
            "a longer body than announced",
            &[&[1, 4, 0, 0, 0xd9, 0xc4], data],
            None,
        ),
    ];
    all.extend(of_streams());
    all.extend(of_fields());
    all
}

#[tokio::test]
async fn violations_are_told_with_the_code_of_the_rule() {
    let server = server();
    let recorder = recorder();
    for violation in violations() {
        let name = violation.name;
        let (mut connection, met) = connect(&server, &recorder).await;
        let serving = met.clone();
        let is_answered = !violation.answer.is_empty();
        let serve = async move {
            let (mut sending, receiving) = serving.accept_bi().await.unwrap();
            let mut streams = Vec::new();
            for bytes in violation.streams {
                let mut stream = serving.open_uni().await.unwrap();
                stream.write_chunk(bytes.into()).await.unwrap();
                if violation.ends {
                    stream.finish().unwrap();
                }
                streams.push(stream);
            }
            if violation.begins {
                let (mut up, _down) = serving.open_bi().await.unwrap();
                up.write_chunk(OK.as_slice().into()).await.unwrap();
            }
            if is_answered {
                sending.write_chunk(violation.answer.into()).await.unwrap();
                sending.finish().unwrap();
            }
            (sending, receiving, streams)
        };
        let asking = ask(&mut connection, "GET", "https://localhost/", &recorder);
        let (asked, _open) = tokio::join!(asking, serve);
        let error = asked.0.expect_err(name);
        assert!(matches!(error, HttpError::H3(_)), "{name}: {error}");
        let Some(expected) = violation.code else {
            assert!(error.to_string().contains("malformed"), "{name}: {error}");
            assert!(connection.is_open(), "{name}");
            continue;
        };
        let text = error.to_string();
        assert!(text.contains(expected.name().unwrap()), "{name}: {text}");
        match met.closed().await {
            CloseReason::Application { code, .. } => {
                assert_eq!(Code::from_value(code), expected, "{name}");
            }
            other => panic!("{name}: {other:?} {:#?}", met.stats()),
        }
    }
}

/// RFC 9114 §5.2: such a request may be sent again elsewhere.
#[tokio::test]
async fn requests_behind_goaway_are_rejected() {
    let server = server();
    let recorder = recorder();
    let (mut connection, met) = connect(&server, &recorder).await;
    let mut control = met.open_uni().await.unwrap();
    control
        .write_chunk([0, 4, 0].as_slice().into())
        .await
        .unwrap();
    let serve = async {
        let (mut sending, _receiving) = met.accept_bi().await.unwrap();
        // The request was not accepted, and the server forgets it.
        control
            .write_chunk([7, 1, 0].as_slice().into())
            .await
            .unwrap();
        sending.reset(Code::H3_INTERNAL_ERROR.value()).unwrap();
    };
    let asking = ask(&mut connection, "GET", "https://localhost/", &recorder);
    let (asked, ()) = tokio::join!(asking, serve);
    let _ = asked.0.unwrap_err();
    // Once GOAWAY has arrived, nothing is sent at all.
    for _ in 0..1000 {
        let asked = ask(&mut connection, "GET", "https://localhost/", &recorder);
        let again = tokio::select! {
            asked = asked => asked.0.unwrap_err(),
            stream = met.accept_bi() => { drop(stream); continue }
        };
        if again.is_unprocessed() {
            return;
        }
    }
    panic!("the client asks on");
}

/// RFC 9114 §5.2: the first GOAWAY rejects a request that waits, and the second none. In either
/// case the client begins no other.
#[tokio::test]
async fn a_request_that_waits_is_rejected_by_goaway_and_no_other_begins() {
    const NONE: &[u8] = &[7, 1, 0];
    const ALL: &[u8] = &[7, 8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfc];
    let server = server();
    let recorder = recorder();
    for (goaway, is_accepted) in [(NONE, false), (ALL, true)] {
        let (mut connection, met) = connect(&server, &recorder).await;
        let mut control = met.open_uni().await.unwrap();
        let settings = Bytes::from_static(&SETTINGS);
        control.write_chunk(settings).await.unwrap();
        let serve = async {
            let (mut sending, receiving) = met.accept_bi().await.unwrap();
            let goaway = Bytes::from_static(goaway);
            control.write_chunk(goaway).await.unwrap();
            if is_accepted {
                sending.write_chunk(OK.as_slice().into()).await.unwrap();
                sending.finish().unwrap();
            }
            (sending, receiving)
        };
        let asking = ask(&mut connection, "GET", "https://localhost/", &recorder);
        let both = async { tokio::join!(asking, serve) };
        let (asked, _stream) = timeout(PATIENCE, both).await.unwrap();
        match asked.0 {
            Ok(()) => assert!(is_accepted),
            Err(error) => assert!(!is_accepted && error.is_unprocessed(), "{error}"),
        }
        // GOAWAY may come after the answer.
        let learning = async {
            while connection.is_open() {
                sleep(Duration::from_millis(1)).await;
            }
        };
        timeout(PATIENCE, learning).await.unwrap();
        let again = ask(&mut connection, "GET", "https://localhost/", &recorder);
        let error = timeout(PATIENCE, again).await.unwrap().0.unwrap_err();
        assert!(error.is_unprocessed(), "{error}");
    }
}

/// RFC 9114 §4.2.2.
#[tokio::test]
async fn a_request_whose_head_the_server_does_not_accept_is_not_sent() {
    let server = server();
    let recorder = recorder();
    let (mut connection, met) = connect(&server, &recorder).await;
    let mut control = met.open_uni().await.unwrap();
    // SETTINGS_MAX_FIELD_SECTION_SIZE = 50.
    let settings = Bytes::from_static(&[0, 4, 2, 6, 50]);
    control.write_chunk(settings).await.unwrap();
    let serve = async {
        let (mut sending, _receiving) = met.accept_bi().await.unwrap();
        sending.write_chunk(OK.as_slice().into()).await.unwrap();
        sending.finish().unwrap();
        std::future::pending::<()>().await;
    };
    // The first request may leave before the settings come, but its answer comes after them.
    tokio::select! {
        _ = ask(&mut connection, "GET", "https://localhost/", &recorder) => {}
        () = serve => {}
    }
    let asked = ask(&mut connection, "GET", "https://localhost/", &recorder).await;
    let error = asked.0.unwrap_err().to_string();
    assert!(error.contains("the peer accepts 50"), "{error}");
}
