//! The other direction: a backend that answers one request with bytes that can be read in two ways.
//! The client gets one answer, complete or visibly cut, and next the true answer to its next
//! request.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::spawn_local;
use tokio::time::timeout;

use crate::smuggling::reader::{Kind, message, messages};
use crate::smuggling::run;
use crate::smuggling::wires::listener;

const PATIENCE: Duration = Duration::from_secs(20);
const POISON: &str = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison";
const TRUE: &str = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ntrue";

/// How the client sees the hostile answer.
#[derive(Debug, Clone, Copy)]
enum First {
    Whole(u16, &'static str),
    /// 502 from gate, or only the end of the connection.
    Refused,
    /// It began, and is visibly incomplete.
    Cut,
}

struct Case {
    name: &'static str,
    answer: String,
    first: First,
    /// The backend closes after its answer.
    closes: bool,
}

fn case(name: &'static str, answer: impl Into<String>, first: First) -> Case {
    Case {
        name,
        answer: answer.into(),
        first,
        closes: false,
    }
}

fn ends(name: &'static str, answer: impl Into<String>, first: First) -> Case {
    Case {
        closes: true,
        ..case(name, answer, first)
    }
}

/// A head with these lines, and what follows it.
fn answer(lines: &str, rest: &str) -> String {
    format!("HTTP/1.1 200 OK\r\n{lines}\r\n{rest}")
}

fn lengths() -> Vec<Case> {
    use First::{Cut, Refused, Whole};
    let hello = Whole(200, "hello");
    let both = "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n";
    vec![
        case("plain", answer("Content-Length: 5\r\n", "hello"), hello),
        case(
            "two like lengths",
            answer("Content-Length: 5\r\nContent-Length: 5\r\n", "hello"),
            hello,
        ),
        case(
            "two lengths",
            answer("Content-Length: 5\r\nContent-Length: 50\r\n", "hello"),
            Refused,
        ),
        case(
            "a list of lengths",
            answer("Content-Length: 5, 5\r\n", "hello"),
            Refused,
        ),
        case(
            "a length with a sign",
            answer("Content-Length: +5\r\n", "hello"),
            Refused,
        ),
        case(
            "a length that is none",
            answer("Content-Length: 5x\r\n", "hello"),
            Refused,
        ),
        case(
            "an empty length",
            answer("Content-Length: \r\n", "hello"),
            Refused,
        ),
        case(
            "a huge length",
            answer("Content-Length: 99999999999999999999999\r\n", "hello"),
            Refused,
        ),
        case("a length and a coding", answer(both, "0\r\n\r\n"), Refused),
        case(
            "a coding and a length",
            answer(
                "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
                "0\r\n\r\n",
            ),
            Refused,
        ),
        case(
            "another coding",
            answer("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"),
            Refused,
        ),
        case(
            "two codings",
            answer(
                "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n",
                "0\r\n\r\n",
            ),
            Refused,
        ),
        case(
            "a coding twice",
            answer(
                "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
                "0\r\n\r\n",
            ),
            Refused,
        ),
        case(
            "a coding of an old server",
            "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            Refused,
        ),
        case(
            "a length that is the connection's",
            answer(
                "Connection: Content-Length\r\nContent-Length: 5\r\n",
                "hello",
            ),
            hello,
        ),
        case(
            "a coding that is the connection's",
            answer(
                "Connection: Transfer-Encoding\r\nTransfer-Encoding: chunked\r\n",
                "5\r\nhello\r\n0\r\n\r\n",
            ),
            hello,
        ),
        case(
            "more than its length",
            answer("Content-Length: 5\r\n", &format!("hello{POISON}")),
            hello,
        ),
        case(
            "more than nothing",
            answer("Content-Length: 0\r\n", POISON),
            Whole(200, ""),
        ),
        ends(
            "less than its length",
            answer("Content-Length: 500\r\n", "hello"),
            Cut,
        ),
        // Long enough that an error message of gate would complete it.
        ends(
            "a little less than its length",
            answer("Content-Length: 9\r\n", "hello"),
            Cut,
        ),
        ends("no length", answer("", "hello"), hello),
        ends(
            "no length, an old server",
            "HTTP/1.0 200 OK\r\n\r\nhello",
            hello,
        ),
        case(
            "204 with a length",
            format!("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n{POISON}"),
            Whole(204, ""),
        ),
        case(
            "304 with a length",
            format!("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n{POISON}"),
            Whole(304, ""),
        ),
        case(
            "204 with chunks",
            format!("HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n{POISON}"),
            Whole(204, ""),
        ),
        case(
            "304 with two lengths",
            "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
            Refused,
        ),
    ]
}

fn chunks() -> Vec<Case> {
    let chunked = |rest: &str| answer("Transfer-Encoding: chunked\r\n", rest);
    let mut all = vec![
        case(
            "chunks",
            chunked("5;x\r\nhello\r\n0\r\nX-Trailer: 1\r\n\r\n"),
            First::Whole(200, "hello"),
        ),
        case(
            "trailers that would frame",
            chunked(
                "5\r\nhello\r\n0\r\nContent-Length: 9\r\nConnection: close\r\nSet-Cookie: a=b\r\n\r\n",
            ),
            First::Whole(200, "hello"),
        ),
        case(
            "more than chunks",
            chunked(&format!("5\r\nhello\r\n0\r\n\r\n{POISON}")),
            First::Whole(200, "hello"),
        ),
    ];
    for (name, bad) in [
        ("a size with a sign", "5\r\nhello\r\n+0\r\n\r\n"),
        ("a size with 0x", "0x5\r\nhello\r\n0\r\n\r\n"),
        ("a size ended by LF", "5\nhello\r\n0\r\n\r\n"),
        ("a chunk ended by LF", "5\r\nhello\n0\r\n\r\n"),
        ("a chunk that is too long", "5\r\nhelloo\r\n0\r\n\r\n"),
        ("a chunk that is too short", "5\r\nhell\r\n0\r\n\r\n"),
        ("an extension ended by LF", "5;a\nhello\r\n0\r\n\r\n"),
        ("two sizes", "5 6\r\nhello\r\n0\r\n\r\n"),
        ("a huge size", "5\r\nhello\r\nFFFFFFFFFFFFFFFFF\r\n"),
        ("a trailer ended by LF", "5\r\nhello\r\n0\r\nA: b\n\r\n"),
        ("a trailer without a colon", "5\r\nhello\r\n0\r\nA\r\n\r\n"),
        (
            "an answer as a trailer",
            "5\r\nhello\r\n0\r\nHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison",
        ),
    ] {
        all.push(case(name, chunked(bad), First::Cut));
    }
    all.push(ends("no last chunk", chunked("5\r\nhello\r\n"), First::Cut));
    all.push(ends(
        "half a last chunk",
        chunked("5\r\nhello\r\n0\r\n"),
        First::Cut,
    ));
    all
}

fn heads() -> Vec<Case> {
    use First::{Refused, Whole};
    let interim = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";
    let hello = answer("Content-Length: 5\r\n", "hello");
    let whole = Whole(200, "hello");
    vec![
        case("interim answers", interim.repeat(3) + &hello, whole),
        case(
            "a flood of interim answers",
            interim.repeat(8000) + &hello,
            Refused,
        ),
        case(
            "an interim answer with a length",
            format!("HTTP/1.1 103 E\r\nContent-Length: 5\r\n\r\n{hello}"),
            whole,
        ),
        case(
            "an interim answer with chunks",
            format!("HTTP/1.1 103 E\r\nTransfer-Encoding: chunked\r\n\r\n{hello}"),
            whole,
        ),
        case(
            "101 unasked",
            format!("HTTP/1.1 101 S\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n{POISON}"),
            Refused,
        ),
        case(
            "a status of 0",
            format!("HTTP/1.1 000 Z\r\n\r\n{hello}"),
            Refused,
        ),
        case(
            "a status of 99",
            format!("HTTP/1.1 099 Z\r\n\r\n{hello}"),
            Refused,
        ),
        case(
            "a status of two digits",
            "HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n",
            Refused,
        ),
        case(
            "a status of four digits",
            "HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n",
            Refused,
        ),
        case("another protocol", "SSH-2.0-OpenSSH_9.2\r\n", Refused),
        case(
            "HTTP/2",
            "HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n",
            Refused,
        ),
        case(
            "a fold",
            answer("X: a\r\n b\r\nContent-Length: 5\r\n", "hello"),
            Refused,
        ),
        case(
            "a blank before a colon",
            answer("Content-Length : 5\r\n", "hello"),
            Refused,
        ),
        case(
            "a NUL",
            answer("X: a\0b\r\nContent-Length: 5\r\n", "hello"),
            Refused,
        ),
        case(
            "a CR alone",
            answer("X: a\rSet-Cookie: evil=1\r\nContent-Length: 5\r\n", "hello"),
            Refused,
        ),
        case(
            "too many fields",
            answer(&"X: a\r\n".repeat(500), ""),
            Refused,
        ),
        case(
            "too large a field",
            answer(&format!("X: {}\r\n", "a".repeat(200_000)), ""),
            Refused,
        ),
        ends("half a head", "HTTP/1.1 200 OK\r\nContent-Le", Refused),
        ends("nothing", "", Refused),
        case(
            "a reason of its own",
            "HTTP/1.1 200 \u{e9}v\u{e9}\r\nContent-Length: 5\r\n\r\nhello",
            whole,
        ),
        case(
            "no reason",
            "HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello",
            whole,
        ),
        // A line that ends with only LF may be accepted, but is then rewritten.
        case(
            "fields of one hop",
            answer(
                "Connection: close, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=9\r\nContent-Length: 5\r\n",
                "hello",
            ),
            whole,
        ),
        case(
            "an upgrade that nobody asked for",
            answer(
                "Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 5\r\n",
                "hello",
            ),
            whole,
        ),
    ]
}

#[test]
fn no_answer_is_taken_for_the_next_one() {
    run(async {
        let mut wrong = Vec::new();
        for case in lengths().into_iter().chain(chunks()).chain(heads()) {
            let heard = timeout(PATIENCE, ask(&case)).await;
            let judged = match &heard {
                Ok(heard) => judge(&case, heard),
                Err(_) => Err("it does not end".into()),
            };
            if let Err(why) = judged {
                wrong.push(format!("{}: {why}", case.name));
            }
        }
        assert!(
            wrong.is_empty(),
            "{} wrong:\n{}",
            wrong.len(),
            wrong.join("\n")
        );
    });
}

/// Sends two requests at once; the hostile backend answers the first as the case says.
async fn ask(case: &Case) -> Vec<u8> {
    let backend = hostile(case.answer.clone(), case.closes).await;
    let (listener, gate) = listener().await;
    let relay = spawn_local(roundtrip_gate::measuring::relay(listener, backend));
    let mut client = TcpStream::connect(gate).await.unwrap();
    let wire =
        "GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    client.write_all(wire.as_bytes()).await.unwrap();
    let mut heard = Vec::new();
    while let Ok(1..) = client.read_buf(&mut heard).await {}
    relay.abort();
    heard
}

async fn hostile(answer: String, closes: bool) -> SocketAddr {
    let (listener, address) = listener().await;
    spawn_local(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let answer = answer.clone();
            spawn_local(async move {
                let mut buffer = Vec::new();
                loop {
                    let Ok(Some((request, length))) = message(&buffer, Kind::Request) else {
                        match stream.read_buf(&mut buffer).await {
                            Ok(1..) => continue,
                            _ => return,
                        }
                    };
                    buffer.drain(..length);
                    let is_first = request.asked() == "GET /1";
                    let bytes = if is_first { &answer } else { TRUE };
                    if stream.write_all(bytes.as_bytes()).await.is_err() || (is_first && closes) {
                        return;
                    }
                }
            });
        }
    });
    address
}

fn judge(case: &Case, heard: &[u8]) -> Result<(), String> {
    let text = String::from_utf8_lossy(heard);
    let (mut all, rest) = messages(heard, Kind::Response).or_else(|why| match case.first {
        // A strict client sees that it is broken; then nothing may look complete.
        First::Cut => Ok((Vec::new(), heard)),
        _ => Err(format!("{why}: {text:?}")),
    })?;
    if let Some(hop) = all.iter().find(|a| {
        ["keep-alive", "upgrade", "x-hop"]
            .iter()
            .any(|name| a.values(name).next().is_some())
    }) {
        return Err(format!("a field of one hop: {hop:?}"));
    }
    all.retain(|answer| answer.status() >= 200);
    let told: Vec<(u16, &str)> = all
        .iter()
        .map(|a| (a.status(), std::str::from_utf8(&a.body).unwrap_or("?")))
        // Gate's own answer.
        .map(|(status, body)| match (status, body) {
            (502, body) if body.starts_with("502 Bad Gateway: ") => (502, ""),
            other => other,
        })
        .collect();
    let sound = match (case.first, told.as_slice()) {
        (First::Whole(status, body), [first, second]) => {
            *first == (status, body) && *second == (200, "true") && rest.is_empty()
        }
        (First::Refused, [] | [(502, "")] | [(502, ""), (200, "true")])
        | (First::Cut, [(502, "")]) => rest.is_empty(),
        (First::Cut, []) => !text.contains("HTTP/1.1 502") || text.starts_with("HTTP/1.1 502"),
        _ => false,
    };
    if sound {
        Ok(())
    } else {
        Err(format!(
            "{told:?}, then {:?}",
            String::from_utf8_lossy(rest)
        ))
    }
}
