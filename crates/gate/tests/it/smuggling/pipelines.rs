//! Several requests on one connection, one after the other. RFC 9112 §9.3.

use crate::smuggling::case::{Case, End, HOST, get, means, post};

pub(crate) fn cases() -> Vec<Case> {
    let three = get("/1", "")
        + &post("Content-Length: 3\r\n", "two")
        + &post("Transfer-Encoding: chunked\r\n", "5\r\nthree\r\n0\r\n\r\n");
    vec![
        means("three at once", three, "GET /1", b"")
            .and("POST /case", b"two")
            .and("POST /case", b"three"),
        means(
            "no chunk, twice",
            post("Transfer-Encoding: chunked\r\n", "0\r\n\r\n0\r\n\r\n"),
            "POST /case",
            b"",
        )
        .end(End::Refused(400)),
        means(
            "one byte too many",
            post("Content-Length: 4\r\n", "hell\0"),
            "POST /case",
            b"hell",
        )
        .end(End::Refused(400)),
        means(
            "empty lines between",
            get("/1", "") + "\r\n\r\n" + &get("/2", ""),
            "GET /1",
            b"",
        )
        .and("GET /2", b""),
        means(
            "the old way",
            format!("POST /case HTTP/1.0\r\nHost: {HOST}\r\nContent-Length: 5\r\n\r\nhello"),
            "POST /case",
            b"hello",
        )
        .end(End::Closed),
        means(
            "the old way, kept",
            format!(
                "POST /case HTTP/1.0\r\nHost: {HOST}\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello"
            ),
            "POST /case",
            b"hello",
        ),
        means(
            "a last one",
            get("/1", "Connection: close\r\n") + &get("/2", ""),
            "GET /1",
            b"",
        )
        .end(End::Closed),
        // The rest of the body never comes.
        Case {
            end: End::Cut,
            means: Vec::new(),
            ..means(
                "too little",
                post("Content-Length: 500\r\n", "hello"),
                "POST /case",
                b"",
            )
        },
    ]
}
