//! Heads that RFC 9114 §4.1.2 calls malformed, as bytes, because the client of the `h3` crate would
//! not send them.

use h3::error::Code;
use quinn::{ReadToEndError, RecvStream, SendStream, VarInt};
use roundtrip_wire::qpack;

use super::rules::h3_cases::{frame, section};
use super::{AcceptedConnection, ask, client, get, text};
use crate::accept::front::scene::{Scene, run};
use crate::config::Bytes;
use crate::record::{Limit, Reason};

type Lines<'a> = Vec<(&'a str, &'a str)>;

const DATA: u8 = 0;
const HEADERS: u8 = 1;

/// The fields of a valid request's head.
const SOUND: [(&str, &str); 4] = [
    (":method", "GET"),
    (":scheme", "https"),
    (":authority", "a.example"),
    (":path", "/"),
];

/// The answer on a stream.
#[derive(Debug, PartialEq, Eq)]
enum Answered {
    Status(String),
    Reset(u64),
    Closed(u64),
}

fn malformed() -> Answered {
    Answered::Reset(Code::H3_MESSAGE_ERROR.value())
}

fn status(status: &str) -> Answered {
    Answered::Status(status.to_owned())
}

/// The sound head, followed by more lines.
fn with<'a>(more: &[(&'a str, &'a str)]) -> Lines<'a> {
    [&SOUND, more].concat()
}

/// A valid head with another value for one of its fields.
fn but<'a>(name: &str, value: &'a str) -> Lines<'a> {
    let mut lines = SOUND.to_vec();
    for line in lines.iter_mut().filter(|line| line.0 == name) {
        line.1 = value;
    }
    lines
}

fn without(name: &str) -> Lines<'static> {
    SOUND.into_iter().filter(|line| line.0 != name).collect()
}

async fn open(met: &AcceptedConnection) -> (SendStream, RecvStream) {
    met.quic.open_bi().await.unwrap()
}

async fn answered(mut down: RecvStream) -> Answered {
    let read = down.read_to_end(1 << 20).await;
    let bytes = match read {
        Ok(bytes) => bytes,
        Err(ReadToEndError::Read(quinn::ReadError::Reset(code))) => {
            return Answered::Reset(VarInt::into_inner(code));
        }
        Err(ReadToEndError::Read(quinn::ReadError::ConnectionLost(
            quinn::ConnectionError::ApplicationClosed(close),
        ))) => return Answered::Closed(close.error_code.into_inner()),
        Err(error) => panic!("{error}"),
    };
    // All heads here are short: their lengths take a byte or two.
    let (payload, length) = match bytes[1] {
        short @ 0..0x40 => (2, usize::from(short)),
        long => (3, usize::from(long & 0x3f) << 8 | usize::from(bytes[2])),
    };
    let bounds = qpack::SectionBounds {
        lines: 100,
        size: 1 << 16,
    };
    let lines = qpack::read_section(&bytes[payload..payload + length], bounds).unwrap();
    let (name, value) = lines.lines().next().unwrap();
    assert_eq!(name, b":status");
    Answered::Status(String::from_utf8(value.to_vec()).unwrap())
}

/// Sends these frames as one whole request, and returns the answer.
async fn send(met: &AcceptedConnection, frames: &[Vec<u8>]) -> Answered {
    let (mut up, down) = open(met).await;
    // Gate may already have refused the request and stopped reading.
    let _ = up.write_all(&frames.concat()).await;
    let _ = up.finish();
    answered(down).await
}

async fn head(met: &AcceptedConnection, lines: &[(&str, &str)]) -> Answered {
    send(met, &[frame(HEADERS, &section(lines))]).await
}

#[test]
fn malformed_heads_are_refused_and_counted() {
    let behind = [&[("x", "y")], SOUND.as_slice()].concat();
    let between = [&SOUND[..2], &[("x", "y")], &SOUND[2..]].concat();
    let cases = vec![
        with(&[(":path", "/other")]),
        with(&[(":method", "POST")]),
        with(&[(":authority", "b.example")]),
        with(&[(":authority", "a.example")]),
        with(&[(":scheme", "https")]),
        with(&[(":status", "200")]),
        with(&[(":unheard-of", "x")]),
        with(&[(":protocol", "websocket")]),
        behind,
        between,
        without(":method"),
        without(":scheme"),
        without(":path"),
        without(":authority"),
        but(":path", ""),
        but(":path", "a"),
        but(":path", "*"),
        but(":method", ""),
        but(":method", "G ET"),
        but(":scheme", "ftp"),
        but(":scheme", ""),
        but(":authority", ""),
        but(":authority", "user@a.example"),
        with(&[("connection", "close")]),
        with(&[("keep-alive", "timeout=5")]),
        with(&[("proxy-connection", "keep-alive")]),
        with(&[("transfer-encoding", "chunked")]),
        with(&[("upgrade", "websocket")]),
        with(&[("te", "gzip")]),
        with(&[("te", "trailers, gzip")]),
        with(&[("X-Upper", "y")]),
        with(&[("", "y")]),
        with(&[("a b", "y")]),
        with(&[("x", " y")]),
        with(&[("x", "y ")]),
        with(&[("x", "\ty")]),
        with(&[("x", "y\r\nz: 1")]),
        with(&[("x", "y\0")]),
    ];
    run(
        |config| config.limits.resets = 1000,
        async |scene: Scene| {
            let mut met = client(&scene).await;
            for (at, lines) in cases.iter().enumerate() {
                assert_eq!(head(&met, lines).await, malformed(), "{lines:?}");
                assert_eq!(scene.refused(Reason::Malformed), at as u64 + 1);
            }
            assert!(scene.backend.heads.borrow().is_empty());
            // Other streams on the connection are not affected.
            text(&mut ask(&mut met.client, get("/")).await).await;
        },
    );
}

#[test]
fn sound_heads_are_taken_however_they_are_written() {
    run(
        |_| (),
        async |scene: Scene| {
            let met = client(&scene).await;
            let host = [without(":authority"), vec![("host", "a.example")]].concat();
            for lines in [
                with(&[]),
                with(&[("host", "a.example")]),
                host,
                with(&[("te", "trailers")]),
                with(&[("x", "")]),
                with(&[("x", "a b\tc")]),
                with(&[("x", "\u{e9}")]),
                [&[(":path", "/?q=a")], without(":path").as_slice()].concat(),
            ] {
                assert_eq!(head(&met, &lines).await, status("200"), "{lines:?}");
            }
            assert_eq!(scene.backend.heads.borrow().len(), 8);
            // In pieces, after a frame of a reserved type.
            let (mut up, down) = open(&met).await;
            let whole = [frame(0x21, b"abc"), frame(HEADERS, &section(&SOUND))].concat();
            for piece in whole.chunks(7) {
                up.write_all(piece).await.unwrap();
                tokio::task::yield_now().await;
            }
            up.finish().unwrap();
            assert_eq!(answered(down).await, status("200"));
        },
    );
}

#[test]
fn fields_are_counted_before_anything_is_made_of_them() {
    run(
        |config| {
            config.limits.fields = 10;
            config.limits.head = Bytes(2 << 20);
        },
        async |scene: Scene| {
            let met = client(&scene).await;
            assert_eq!(head(&met, &with(&[("x", "y"); 10])).await, status("200"));
            assert_eq!(head(&met, &with(&[("x", "y"); 11])).await, status("431"));
            assert_eq!(scene.met(Limit::Fields), 1);
            // Several `cookie` fields count as one.
            assert_eq!(
                head(&met, &with(&[("cookie", "a=b"); 200])).await,
                status("200")
            );
            // `accept: */*` from the static table, and as many cookies: more than the `http` crate
            // has room for.
            let mut many = section(&SOUND);
            many.resize(many.len() + 24_800, 0xdd);
            assert_eq!(send(&met, &[frame(HEADERS, &many)]).await, status("431"));
            many.truncate(many.len() - 24_800);
            many.resize(many.len() + 24_800, 0xc0 | 5);
            assert_eq!(send(&met, &[frame(HEADERS, &many)]).await, status("431"));
            assert_eq!(scene.met(Limit::Fields), 3);
            assert_eq!(scene.backend.heads.borrow().len(), 2);
        },
    );
}

#[test]
fn a_head_that_is_too_large_is_answered_and_counted() {
    run(
        |config| config.limits.head = Bytes(1024),
        async |scene: Scene| {
            let met = client(&scene).await;
            let long = "y".repeat(1000);
            assert_eq!(head(&met, &with(&[("x", &long)])).await, status("431"));
            assert_eq!(scene.met(Limit::Head), 1);
            assert_eq!(head(&met, &SOUND).await, status("200"));
        },
    );
}

#[test]
fn what_no_table_has_ends_the_connection() {
    // An invalid index of the static table, references to a dynamic table, and an incomplete
    // Huffman code.
    for bad in [
        &[0, 0, 0xff, 0x24][..],
        &[1, 0, 0x80],
        &[0, 0, 0x80],
        &[0, 0, 0x10],
        &[0, 0, 0x51, 0x81, 0xfe],
        &[0, 0, 0x51, 5],
        &[0],
    ] {
        run(
            |_| (),
            async |scene: Scene| {
                let met = client(&scene).await;
                let expected = Answered::Closed(Code::QPACK_DECOMPRESSION_FAILED.value());
                assert_eq!(
                    send(&met, &[frame(HEADERS, bad)]).await,
                    expected,
                    "{bad:x?}"
                );
                assert!(scene.backend.heads.borrow().is_empty());
            },
        );
    }
}

#[test]
fn malformed_trailers_are_refused_and_counted() {
    run(
        |_| (),
        async |scene: Scene| {
            let met = client(&scene).await;
            let lines = but(":method", "POST");
            let (asked, data) = (frame(HEADERS, &section(&lines)), frame(DATA, b"abc"));
            let many = vec![("x", "y"); 101];
            for (trailers, reason) in [
                (&[("x-sum", "1")][..], None),
                (&[(":path", "/")], Some(Reason::Malformed)),
                (&[(":status", "200")], Some(Reason::Malformed)),
                (&[("X-Upper", "1")], Some(Reason::Malformed)),
                (&[("connection", "close")], Some(Reason::Malformed)),
                (&[("x", " y")], Some(Reason::Malformed)),
                (&many, Some(Reason::TooManyFields)),
            ] {
                let forwarded = || scene.backend.heads.borrow().len();
                let refused = || reason.map(|reason| scene.refused(reason));
                let before = (forwarded(), refused());
                let trailers = frame(HEADERS, &section(trailers));
                let got = send(&met, &[asked.clone(), data.clone(), trailers]).await;
                let Some(refusals) = before.1 else {
                    assert_eq!((got, forwarded()), (status("200"), before.0 + 1));
                    continue;
                };
                // Whether the request can still be answered depends on what was read before them.
                let told = [malformed(), status("400"), status("431")].contains(&got);
                assert!(told, "{reason:?}: {got:?}");
                assert_eq!((forwarded(), refused()), (before.0, Some(refusals + 1)));
            }
        },
    );
}

#[test]
fn nothing_may_come_behind_trailers() {
    for behind in [frame(DATA, b"abc"), frame(HEADERS, &section(&[("x", "y")]))] {
        run(
            |_| (),
            async |scene: Scene| {
                let met = client(&scene).await;
                let asked = frame(HEADERS, &section(&but(":method", "POST")));
                let trailers = frame(HEADERS, &section(&[("x", "y")]));
                let got = send(&met, &[asked, trailers, behind.clone()]).await;
                let expected = Answered::Closed(Code::H3_FRAME_UNEXPECTED.value());
                assert_eq!(got, expected);
            },
        );
    }
}
