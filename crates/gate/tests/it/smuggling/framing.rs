//! Where a request ends: every form of `Content-Length`, `Transfer-Encoding` and chunks. RFC 9112
//! §6, §7.1, §11.2.

use crate::smuggling::case::{Case, HOST, chunks, cut, get, means, post, refused};

pub(crate) fn cases() -> Vec<Case> {
    let mut all = lengths();
    all.extend(both());
    all.extend(codings());
    all.extend(sound_chunks());
    all.extend(broken_chunks());
    all
}

fn lengths() -> Vec<Case> {
    let mut all = vec![
        means(
            "a length",
            post("Content-Length: 5\r\n", "hello"),
            "POST /case",
            b"hello",
        ),
        means(
            "a length of zero",
            post("Content-Length: 0\r\n", ""),
            "POST /case",
            b"",
        ),
        means("no length", post("", ""), "POST /case", b""),
        means(
            "blanks around a length",
            post("Content-Length: \t 5 \t\r\n", "hello"),
            "POST /case",
            b"hello",
        ),
        means(
            "zeros before a length",
            post("Content-Length: 0005\r\n", "hello"),
            "POST /case",
            b"hello",
        ),
        means(
            "a length in capitals",
            post("CONTENT-LENGTH: 5\r\n", "hello"),
            "POST /case",
            b"hello",
        ),
        means(
            "a GET with a body",
            get("/case", "Content-Length: 5\r\n") + "hello",
            "GET /case",
            b"hello",
        ),
        means(
            "a request as a body",
            post("Content-Length: 24\r\n", "GET /evil HTTP/1.1\r\nA: b"),
            "POST /case",
            b"GET /evil HTTP/1.1\r\nA: b",
        ),
        // A length that only another reader might see does not count.
        means(
            "a length with an underscore",
            post("Content_Length: 5\r\n", ""),
            "POST /case",
            b"",
        ),
        means(
            "a coding with an underscore",
            post(
                "Transfer_Encoding: chunked\r\nContent-Length: 5\r\n",
                "0\r\n\r\n",
            ),
            "POST /case",
            b"0\r\n\r\n",
        ),
        means(
            "a length that is the connection's",
            post(
                "Connection: Content-Length\r\nContent-Length: 5\r\n",
                "hello",
            ),
            "POST /case",
            b"hello",
        ),
        means(
            "a length that Connection names, in other letters",
            post(
                "connection: keep-alive , CONTENT-length\r\nContent-Length: 5\r\n",
                "hello",
            ),
            "POST /case",
            b"hello",
        ),
        means(
            "a coding that is the connection's",
            post(
                "Connection: Transfer-Encoding\r\nTransfer-Encoding: chunked\r\n",
                "5\r\nhello\r\n0\r\n\r\n",
            ),
            "POST /case",
            b"hello",
        ),
    ];
    for bad in [
        "+5",
        "-5",
        "0x5",
        "5;",
        "5;5",
        "5,",
        "5, 5",
        "5,6",
        "5 5",
        "",
        "5.",
        "5.0",
        "5e0",
        "05x",
        "\u{665}",
        "'5'",
        "\"5\"",
        "5\u{b}",
        "\u{b}5",
        "5\u{c}",
        "5\0",
        "18446744073709551621",
        "99999999999999999999",
        "chunked",
    ] {
        let name = format!("a length of {bad:?}");
        all.push(refused(
            &name,
            400,
            post(&format!("Content-Length: {bad}\r\n"), "hello"),
        ));
    }
    for (first, second) in [
        ("5", "5"),
        ("5", "0"),
        ("0", "5"),
        ("5", "6"),
        ("x", "5"),
        ("", "5"),
    ] {
        let lines = format!("Content-Length: {first}\r\nContent-Length: {second}\r\n");
        all.push(refused(
            &format!("lengths of {first:?} and {second:?}"),
            400,
            post(&lines, "hello"),
        ));
    }
    for line in [
        "Content-Length : 5",
        "Content-Length\t: 5",
        " Content-Length: 5",
        "Content-Length\0: 5",
        "Content-Length\u{a0}: 5",
        "Content-Length:\r\n 5",
        "X: a\r\n Content-Length: 5",
        "X: a\n\u{20}Content-Length: 5",
        "X: a\rContent-Length: 5",
    ] {
        all.push(refused(
            &format!("{line:?}"),
            400,
            post(&format!("{line}\r\n"), "hello"),
        ));
    }
    all
}

/// CL.TE, TE.CL, and their variants: two lengths are refused in any form.
fn both() -> Vec<Case> {
    let mut all = Vec::new();
    for (length, coding, rest) in [
        (
            "Content-Length: 6",
            "Transfer-Encoding: chunked",
            "0\r\n\r\nG",
        ),
        (
            "Content-Length: 0",
            "Transfer-Encoding: chunked",
            "0\r\n\r\n",
        ),
        (
            "Content-Length: 3",
            "Transfer-Encoding: chunked",
            "8\r\nSMUGGLED\r\n0\r\n\r\n",
        ),
        (
            "Content-Length: 6",
            "Transfer-Encoding: identity",
            "0\r\n\r\nG",
        ),
        (
            "Content-Length: 6",
            "Transfer-Encoding: xchunked",
            "0\r\n\r\nG",
        ),
        ("Content-Length: 6", "Transfer-Encoding: ", "0\r\n\r\nG"),
        (
            "Content-Length: 6",
            "transfer-encoding:\tCHUNKED",
            "0\r\n\r\nG",
        ),
        (
            "Content-Length: 6",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: x",
            "0\r\n\r\nG",
        ),
        (
            "Content-Length: x",
            "Transfer-Encoding: chunked",
            "0\r\n\r\n",
        ),
    ] {
        for lines in [
            format!("{length}\r\n{coding}\r\n"),
            format!("{coding}\r\n{length}\r\n"),
        ] {
            all.push(refused(
                &format!("both: {lines:?}"),
                400,
                post(&lines, rest),
            ));
        }
    }
    for line in [
        "Transfer-Encoding : chunked",
        "Transfer-Encoding\t: chunked",
        "Transfer-Encoding\u{b}: chunked",
        " Transfer-Encoding: chunked",
        "X: a\nTransfer-Encoding: chunked",
        "X: a\r\n Transfer-Encoding: chunked",
        "X: a\rTransfer-Encoding: chunked",
        "Transfer-Encoding:\r\n chunked",
        "Transfer-Encoding\r\n: chunked",
        "Transfer-Encoding\0: chunked",
        ": chunked",
        "Transfer-Encoding: chunked\0",
        "Transfer-Encoding: \u{b}chunked",
        "Transfer-Encoding: chunked\u{c}",
        "Transfer-Encoding",
    ] {
        let lines = format!("Content-Length: 6\r\n{line}\r\n");
        all.push(refused(
            &format!("both: {line:?}"),
            400,
            post(&lines, "0\r\n\r\nG"),
        ));
    }
    all
}

fn codings() -> Vec<Case> {
    const BODY: &str = "5\r\nhello\r\n0\r\n\r\n";
    let mut all = Vec::new();
    for line in [
        "Transfer-Encoding: chunked",
        "transfer-encoding: CHUNKED",
        "Transfer-Encoding:chunked",
        "Transfer-Encoding: \t chunked\t ",
    ] {
        all.push(means(
            line,
            post(&format!("{line}\r\n"), BODY),
            "POST /case",
            b"hello",
        ));
    }
    for coding in [
        "",
        "identity",
        "gzip",
        "xchunked",
        "chunkedx",
        "chunk",
        "\"chunked\"",
        "'chunked'",
        "chunked;q=1",
        "chunked; a=b",
        "chunked,",
        ",chunked",
        "chunked, chunked",
        "chunked, identity",
        "identity, chunked",
        "gzip, chunked",
        "chunked\tx",
        "ch\u{fc}nked",
        "chunked\r\nTransfer-Encoding: chunked",
        "chunked\r\nTransfer-Encoding: identity",
        "identity\r\nTransfer-Encoding: chunked",
        "\r\nTransfer-Encoding: chunked",
        "chunked\r\ntransfer-encoding:",
    ] {
        all.push(refused(
            &format!("a coding of {coding:?}"),
            501,
            post(&format!("Transfer-Encoding: {coding}\r\n"), BODY),
        ));
    }
    // RFC 9112 §6.1: some servers do not understand it from an HTTP/1.0 client.
    let old =
        format!("POST /case HTTP/1.0\r\nHost: {HOST}\r\nTransfer-Encoding: chunked\r\n\r\n{BODY}");
    all.push(refused("a coding in HTTP/1.0", 501, old));
    all
}

fn sound_chunks() -> Vec<Case> {
    vec![
        chunks("one chunk", "5\r\nhello\r\n0\r\n\r\n", b"hello"),
        chunks(
            "many chunks",
            "1\r\nh\r\n3\r\nell\r\n1\r\no\r\n0\r\n\r\n",
            b"hello",
        ),
        chunks("no chunk", "0\r\n\r\n", b""),
        chunks(
            "a last chunk of many zeros",
            "5\r\nhello\r\n000\r\n\r\n",
            b"hello",
        ),
        chunks(
            "zeros before a size",
            "0005\r\nhello\r\n0\r\n\r\n",
            b"hello",
        ),
        chunks(
            "a size in capitals",
            "A\r\n0123456789\r\n0\r\n\r\n",
            b"0123456789",
        ),
        chunks("an extension", "5;a=b\r\nhello\r\n0;c\r\n\r\n", b"hello"),
        chunks(
            "an extension in quotes",
            "5;a=\"b;c\"\r\nhello\r\n0\r\n\r\n",
            b"hello",
        ),
        // Quotes do not protect a line end: the first CR LF ends the line for every reader.
        chunks(
            "an extension that quotes a line's end",
            "5;a=\"\r\nhello\r\n0\r\n\r\n",
            b"hello",
        ),
        chunks(
            "blanks before an extension",
            "5 \t;a\r\nhello\r\n0\r\n\r\n",
            b"hello",
        ),
        chunks("blanks after a size", "5 \r\nhello\r\n0\r\n\r\n", b"hello"),
        chunks(
            "a last chunk within a chunk",
            "5\r\n0\r\n\r\n\r\n0\r\n\r\n",
            b"0\r\n\r\n",
        ),
        chunks(
            "trailers",
            "5\r\nhello\r\n0\r\nX-Injected: 1\r\n\r\n",
            b"hello",
        ),
        chunks(
            "trailers that would frame",
            "5\r\nhello\r\n0\r\nContent-Length: 50\r\nTransfer-Encoding: identity\r\nHost: evil.example\r\n\r\n",
            b"hello",
        ),
        chunks(
            "trailers that would say who asks",
            "5\r\nhello\r\n0\r\nauthorization: Basic eDp5\r\nX_Forwarded_For: 1.2.3.4\r\nCookie: a=b\r\nX-A: b\r\n\r\n",
            b"hello",
        ),
        chunks(
            "a request as a trailer",
            "5\r\nhello\r\n0\r\nGET: /evil HTTP/1.1\r\nX-A: b\r\n\r\n",
            b"hello",
        ),
        means(
            "a trailer that is the connection's",
            post(
                "Connection: Authorization\r\nTrailer: X-Injected\r\nTransfer-Encoding: chunked\r\n",
                "5\r\nhello\r\n0\r\nX-Injected: 1\r\n\r\n",
            ),
            "POST /case",
            b"hello",
        ),
    ]
}

fn broken_chunks() -> Vec<Case> {
    let mut all: Vec<Case> = [
        "0x5\r\nhello\r\n0\r\n\r\n",
        "+5\r\nhello\r\n0\r\n\r\n",
        "-5\r\nhello\r\n0\r\n\r\n",
        " 5\r\nhello\r\n0\r\n\r\n",
        "\t5\r\nhello\r\n0\r\n\r\n",
        "5\nhello\r\n0\r\n\r\n",
        "5\rX\nhello\r\n0\r\n\r\n",
        "5\r\nhello\n0\r\n\r\n",
        "5\r\nhello0\r\n\r\n",
        "5\r\nhelloX\r\n0\r\n\r\n",
        "5\r\nhell\r\n0\r\n\r\n",
        "5;\nhello\r\n0\r\n\r\n",
        "5;a\nhello\r\n0\r\n\r\n",
        "5;\rhello\r\n0\r\n\r\n",
        "5 5\r\nhello\r\n0\r\n\r\n",
        "5 x\r\nhello\r\n0\r\n\r\n",
        "5,\r\nhello\r\n0\r\n\r\n",
        "5_0\r\nhello\r\n0\r\n\r\n",
        "\r\n5\r\nhello\r\n0\r\n\r\n",
        "5;a\0b\r\nhello\r\n0\r\n\r\n",
        "FFFFFFFFFFFFFFFFF\r\nhello\r\n0\r\n\r\n",
        "10000000000000005\r\nhello\r\n0\r\n\r\n",
        "5\r\nhello\r\n0\n\r\n",
        "5\r\nhello\r\n0\r\n\n",
        "5\r\nhello\r\n0\r\nA: b\n\r\n",
        "5\r\nhello\r\n0\r\nA: b\rC: d\r\n\r\n",
        "5\r\nhello\r\n0\r\nA: b\r\n\n",
        "5\r\nhello\r\nX\r\n\r\n",
        "5\r\nhello\r\n0\r\n\rX",
        "5\r\nhello\r\n0\r\nA\r\n\r\n",
        "5\r\nhello\r\n0\r\nA : b\r\n\r\n",
        "5\r\nhello\r\n0\r\nA: b\r\n c\r\n\r\n",
        "5\r\nhello\r\n0\r\nA: b\0c\r\n\r\n",
        "5\r\nhello\r\n0\r\nGET /evil HTTP/1.1\r\nHost: a\r\n\r\n",
        "5\r\nhello\r\n0\r\n: b\r\n\r\n",
        // Incomplete: what follows is taken for more of it, or the client ends.
        "5\r\nhello\r\n",
        "50\r\nhello\r\n0\r\n\r\n",
    ]
    .iter()
    .map(|chunks| cut(&format!("chunks {chunks:?}"), chunks))
    .collect();
    all.push(cut(
        "a very long extension",
        &format!("5;{}\r\nhello\r\n0\r\n\r\n", "a".repeat(10_000)),
    ));
    all.push(cut(
        "very many zeros",
        &format!("{}5\r\nhello\r\n0\r\n\r\n", "0".repeat(100)),
    ));
    all.push(cut(
        "a very long trailer",
        &format!("0\r\nA: {}\r\n\r\n", "a".repeat(20_000)),
    ));
    all.push(cut(
        "very many trailers",
        &format!("0\r\n{}\r\n", "A: b\r\n".repeat(10_000)),
    ));
    all
}
