//! Request targets and hosts. RFC 9112 §3.2.

use crate::smuggling::case::{Case, HOST, means, refused};

pub(crate) fn cases() -> Vec<Case> {
    let mut all = targets();
    all.extend(hosts());
    all
}

fn targets() -> Vec<Case> {
    let line = |target: &str| format!("GET {target} HTTP/1.1\r\nHost: {HOST}\r\n\r\n");
    let mut all = vec![
        means(
            "a query",
            line("/case?a=b&c=%20d?e"),
            "GET /case?a=b&c=%20d?e",
            b"",
        ),
        means(
            "a URL",
            line("http://gate.example/case?a"),
            "GET /case?a",
            b"",
        ),
        means(
            "a URL in capitals",
            line("HTTP://GATE.example/case"),
            "GET /case",
            b"",
        ),
        means(
            "a URL without a path",
            line("http://gate.example"),
            "GET /",
            b"",
        ),
        refused("two slashes", 400, line("//evil.example/case")),
        means(
            "a URL within",
            line("/http://evil.example/case"),
            "GET /http://evil.example/case",
            b"",
        )
        .refusable(),
        means(
            "OPTIONS of all",
            format!("OPTIONS * HTTP/1.1\r\nHost: {HOST}\r\n\r\n"),
            "OPTIONS *",
            b"",
        )
        .refusable(),
        // RFC 9112 §3.2.4.
        means(
            "OPTIONS of a whole host",
            format!("OPTIONS http://gate.example HTTP/1.1\r\nHost: {HOST}\r\n\r\n"),
            "OPTIONS *",
            b"",
        )
        .refusable(),
    ];
    // Odd, but every server that accepts them reads them in the same way.
    for odd in [
        "/%",
        "/%zz",
        "/a//case",
        "/case;x=y",
        "/[a]",
        "/<case>",
        "/\"case\"",
        "/{case}",
        "/a|b",
        "/a^b",
        "/a`b",
        "/\u{e9}",
        "/..case",
        "/a...",
        "/case?/../x",
    ] {
        let case = means(&format!("{odd:?}"), line(odd), &format!("GET {odd}"), b"");
        all.push(case.refusable());
    }
    // No backend needs these.
    for bad in ["/%00", "/%0d%0aX:%20y", "/%ff", "/%2500"] {
        all.push(refused(&format!("{bad:?}"), 400, line(bad)));
    }
    for elsewhere in [
        "/a/../case",
        "/../case",
        "/a/./case",
        "/%2e%2e/case",
        "/..%2fcase",
        "/a%5c..%5ccase",
        "/..;/case",
    ] {
        all.push(refused(&format!("{elsewhere:?}"), 400, line(elsewhere)));
    }
    for bad in [
        "http://evil.example/case",
        "https://evil.example/",
        "http://evil.example@gate.example/",
        "http://gate.example@evil.example/",
        "http://gate.example:80/case",
        "http:///case",
        "http://",
        "http:/case",
        "http:case",
        "//",
        "http://gate.example//evil.example/case",
        "ftp://gate.example/",
        "gate.example:80",
        "gate.example/case",
        "*",
        "case",
        "?case",
        "#",
        "/case#x",
        "/a\\b",
        "\\case",
        "http://gate.example\\@evil.example/",
        "http://gate.example?x",
        "http://gate.example#x",
    ] {
        all.push(refused(&format!("a target of {bad:?}"), 400, line(bad)));
    }
    all.push(refused(
        "a target that is not UTF-8",
        400,
        [
            b"GET /\xff HTTP/1.1\r\nHost: ".as_slice(),
            HOST.as_bytes(),
            b"\r\n\r\n",
        ]
        .concat(),
    ));
    all
}

fn hosts() -> Vec<Case> {
    let lines = |lines: &str| format!("GET /case HTTP/1.1\r\n{lines}\r\n");
    let mut all = vec![
        means(
            "a port",
            lines("Host: gate.example:8080\r\n"),
            "GET /case",
            b"",
        )
        .host("gate.example:8080"),
        means(
            "IPv6",
            lines("Host: [2001:db8::1]:80\r\n"),
            "GET /case",
            b"",
        )
        .host("[2001:db8::1]:80"),
        means(
            "a dot behind",
            lines("Host: gate.example.\r\n"),
            "GET /case",
            b"",
        ),
        means(
            "blanks around",
            lines("Host: \t gate.example \r\n"),
            "GET /case",
            b"",
        ),
        means(
            "a host in capitals",
            lines("HOST: Gate.Example\r\n"),
            "GET /case",
            b"",
        ),
        refused("no host", 400, lines("")),
        refused("no host, for all", 400, "OPTIONS * HTTP/1.1\r\n\r\n"),
        refused(
            "a URL without Host",
            400,
            "GET http://gate.example/case HTTP/1.1\r\n\r\n",
        ),
        refused(
            "a host twice",
            400,
            lines("Host: gate.example\r\nHost: gate.example\r\n"),
        ),
        refused(
            "two hosts",
            400,
            lines("Host: gate.example\r\nHost: evil.example\r\n"),
        ),
        refused(
            "two hosts, one odd",
            400,
            lines("Host: gate.example\r\nhOST:evil.example\r\n"),
        ),
        refused(
            "a host and a fold",
            400,
            lines("Host: gate.example\r\n evil.example\r\n"),
        ),
        refused("a host and a blank", 400, lines("Host : gate.example\r\n")),
        refused(
            "a host behind a blank",
            400,
            lines(" Host: evil.example\r\nHost: gate.example\r\n"),
        ),
        means(
            "no host, the old way",
            "GET /case HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
            "GET /case",
            b"",
        )
        .host("")
        .refusable(),
    ];
    for bad in [
        "",
        "gate.example@evil.example",
        "user:pass@gate.example",
        "gate.example evil.example",
        "gate.example,evil.example",
        "gate.example/case",
        "gate.example?x",
        "gate.example#x",
        "gate.example\\x",
        "gate.example:80:90",
        "gate.example:x",
        "gate.example:+80",
        "gate.example:999999",
        ":80",
        "[::1",
        "::1]",
        "[::1]x",
        "[]",
        "gate.example\0",
        "gate\u{e9}.example",
        "%67ate.example",
        "gate.example%00",
        "http://gate.example",
        "\"gate.example\"",
        "<gate>",
        "(gate)",
        "gate;example",
    ] {
        all.push(refused(
            &format!("a host of {bad:?}"),
            400,
            lines(&format!("Host: {bad}\r\n")),
        ));
    }
    all
}
