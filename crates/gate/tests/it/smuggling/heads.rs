//! How a request head is written: lines, hop-by-hop fields, expectations. RFC 9112 §2, §3, §5.

use crate::smuggling::case::{Case, End, HOST, get, means, post, refused};

pub(crate) fn cases() -> Vec<Case> {
    let mut all = request_lines();
    all.extend(field_lines());
    all.extend(hops());
    all.extend(expectations());
    all
}

fn request_lines() -> Vec<Case> {
    let mut all = vec![
        means("a GET", get("/case", ""), "GET /case", b""),
        means(
            "empty lines before",
            format!("\r\n\r\n{}", get("/case", "")),
            "GET /case",
            b"",
        ),
        means(
            "a method of its own",
            format!("BREW /case HTTP/1.1\r\nHost: {HOST}\r\n\r\n"),
            "BREW /case",
            b"",
        )
        .refusable(),
        means(
            "a method in small letters",
            format!("get /case HTTP/1.1\r\nHost: {HOST}\r\n\r\n"),
            "get /case",
            b"",
        )
        .refusable(),
        refused(
            "CONNECT",
            405,
            format!("CONNECT gate.example:443 HTTP/1.1\r\nHost: {HOST}\r\n\r\n"),
        ),
        refused(
            "TRACE",
            405,
            format!("TRACE /case HTTP/1.1\r\nHost: {HOST}\r\n\r\n"),
        ),
        refused("HTTP/0.9", 400, "GET /case\r\n\r\n"),
        refused("HTTP/2's preface", 400, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        refused(
            "a line's end alone before",
            400,
            format!("\n{}", get("/case", "")),
        ),
    ];
    for line in [
        "GET  /case HTTP/1.1",
        "GET /case  HTTP/1.1",
        "GET\t/case\tHTTP/1.1",
        "GET /case\tHTTP/1.1",
        " GET /case HTTP/1.1",
        "\tGET /case HTTP/1.1",
        "GET /case HTTP/1.1 ",
        "GET /case HTTP/1.1\t",
        "GET /case HTTP/1.10",
        "GET /case HTTP/01.1",
        "GET /case HTTP/1.2",
        "GET /case HTTP/2.0",
        "GET /case HTTP/0.9",
        "GET /case http/1.1",
        "GET /case HTTPS/1.1",
        "GET /case HTTP/1,1",
        "GET /case HTTP/1",
        "GET /case HTTP/",
        "GET /case X HTTP/1.1",
        "GET /a b HTTP/1.1",
        "GET /case\0 HTTP/1.1",
        "GET /case\rHTTP/1.1",
        "GET /case HTTP/1.1\rX",
        "G\u{c9}T /case HTTP/1.1",
        "GE(T /case HTTP/1.1",
        "GE\0T /case HTTP/1.1",
        "GET: /case HTTP/1.1",
        "/case HTTP/1.1",
        "GET HTTP/1.1",
        "GET /case HTTP/1.1\u{b}",
        "GET /case\u{b} HTTP/1.1",
        "GET /case\u{7f} HTTP/1.1",
    ] {
        all.push(refused(
            &format!("{line:?}"),
            400,
            format!("{line}\r\nHost: {HOST}\r\n\r\n"),
        ));
    }
    all
}

fn field_lines() -> Vec<Case> {
    let mut all = vec![
        refused(
            "LF ends each line",
            400,
            get("/case", "X: a\r\n").replace("\r\n", "\n"),
        ),
        refused("LF ends one line", 400, get("/case", "X: a\nY: b\r\n")),
        refused(
            "LF ends the request line",
            400,
            get("/case", "").replacen("\r\n", "\n", 1),
        ),
        refused(
            "LF ends the head",
            400,
            format!("GET /case HTTP/1.1\r\nHost: {HOST}\r\n\n"),
        ),
        refused(
            "LF, then CR LF, ends the head",
            400,
            format!("GET /case HTTP/1.1\r\nHost: {HOST}\n\r\n"),
        ),
        refused(
            "CR ends each line",
            400,
            get("/case", "X: a\r\n").replace("\r\n", "\r") + "\r\n\r\n",
        ),
        refused("two CR", 400, get("/case", "X: a\r\r\n")),
        refused(
            "a value that is not UTF-8 is not cut",
            400,
            [
                get("/case", "").trim_end().as_bytes(),
                b"\r\nX: \xff\0\r\n\r\n",
            ]
            .concat(),
        ),
        means(
            "a value that is not ASCII",
            get("/case", "X-Odd: \u{e9}\r\n"),
            "GET /case",
            b"",
        )
        .refusable(),
        means(
            "an empty value",
            get("/case", "X-Odd:\r\n"),
            "GET /case",
            b"",
        ),
        means(
            "a tab in a value",
            get("/case", "X-Odd: a\tb\r\n"),
            "GET /case",
            b"",
        ),
        refused(
            "too many fields",
            431,
            get("/case", &"X: a\r\n".repeat(200)),
        ),
        refused(
            "a field that is too large",
            431,
            get("/case", &format!("X: {}\r\n", "a".repeat(70_000))),
        ),
        refused(
            "a target that is too long",
            431,
            get(&format!("/{}", "a".repeat(70_000)), ""),
        ),
    ];
    for line in [
        "X : a",
        "X\t: a",
        ": a",
        " : a",
        "X",
        "X Y: a",
        " X: a",
        "\tX: a",
        "X: a\r\n b",
        "X: a\r\n\tb",
        "X: a\0b",
        "X\0: a",
        "X: a\rY: b",
        "X: a\u{b}b",
        "X: a\u{7f}",
        "X(: a",
        "X\u{e9}: a",
        "X: a\u{1}",
        "\"X\": a",
        "X/Y: a",
        "X@Y: a",
        "X\r: a",
        "[X]: a",
    ] {
        all.push(refused(
            &format!("{line:?}"),
            400,
            get("/case", &format!("{line}\r\n")),
        ));
    }
    all
}

fn hops() -> Vec<Case> {
    let mut all = vec![refused(
        "too many options",
        400,
        get("/case", &format!("Connection: {}\r\n", "a,".repeat(100))),
    )];
    // Named fields are removed, except those that gate itself needs.
    for lines in [
        "Connection: Host\r\n",
        "Connection: keep-alive, X-Injected\r\nX-Injected: 1\r\n",
        "Connection: x-injected\r\nConnection: foo\r\nX-Injected: 1\r\n",
        "Connection: Authorization, Cookie\r\nAuthorization: Basic ZXZpbDo=\r\nCookie: a=b\r\n",
        "Connection: X-Forwarded-For\r\nX-Forwarded-For: 1.2.3.4\r\n",
        "X-Forwarded-For: 1.2.3.4\r\n",
        "X_Forwarded_For: 1.2.3.4\r\n",
        "X-Forwarded_For: 1.2.3.4\r\nForwarded: for=1.2.3.4\r\n",
        "x-forwarded-for: 1.2.3.4\r\nX-FORWARDED-FOR: 5.6.7.8\r\n",
        "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n",
        "Upgrade: h2c\r\n",
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n",
        "Keep-Alive: timeout=1, max=1\r\nProxy-Connection: close\r\nTE: trailers\r\nTrailer: Content-Length\r\n",
        "Proxy-Authorization: Basic eDp5\r\n",
        "Connection: ,,keep-alive,,\r\n",
        "Connection:\r\n",
        "Early-Data: 1\r\nEarly_Data: 1\r\n",
    ] {
        all.push(means(
            &format!("{lines:?}"),
            get("/case", lines),
            "GET /case",
            b"",
        ));
    }
    for option in ["\"close\"", "clo se", "close;x", "a/b", "\u{e9}"] {
        all.push(refused(
            &format!("an option of {option:?}"),
            400,
            get("/case", &format!("Connection: {option}\r\n")),
        ));
    }
    all.push(
        means(
            "close, in other letters",
            get("/case", "Connection: x, CLOSE\r\n"),
            "GET /case",
            b"",
        )
        .end(End::Closed),
    );
    all
}

fn expectations() -> Vec<Case> {
    const LENGTH: &str = "Content-Length: 5\r\n";
    let mut all = Vec::new();
    for line in [
        "Expect: 100-continue",
        "expect: 100-Continue",
        "Expect:100-continue",
        "Expect: 100-continue\r\nExpect: 100-continue",
    ] {
        all.push(means(
            &format!("{line:?}"),
            post(&format!("{line}\r\n{LENGTH}"), "hello"),
            "POST /case",
            b"hello",
        ));
    }
    all.push(means(
        "an expectation of nothing",
        get("/case", "Expect: 100-continue\r\n"),
        "GET /case",
        b"",
    ));
    let chunks = post(
        "Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n",
        "5\r\nhello\r\n0\r\n\r\n",
    );
    all.push(means(
        "an expectation and chunks",
        chunks,
        "POST /case",
        b"hello",
    ));
    for bad in [
        "",
        "200-ok",
        "100-continue, x",
        "100-continue, 100-continue",
        "\"100-continue\"",
        "100 continue",
        "100-continue;a=b",
    ] {
        all.push(refused(
            &format!("an expectation of {bad:?}"),
            417,
            post(&format!("Expect: {bad}\r\n{LENGTH}"), "hello"),
        ));
    }
    all
}
