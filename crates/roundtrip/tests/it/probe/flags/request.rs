//! Flags that change the request: method, headers, body, user, encodings, redirects, where the body
//! goes.

use crate::probe::peer::Site;
use crate::probe::run::{probe, said};

/// The request as the origin read it, over each version.
fn heads(arguments: &[&str]) -> [String; 3] {
    let site = Site::start();
    let ask = |version: &str, url: &str| {
        site.body(&[&[version], arguments, &[url]].concat())
            .to_lowercase()
    };
    [
        ask("--http1.1", &site.http("/head")),
        ask("--http1.1", &site.https("/head")),
        ask("--http2", &site.https("/head")),
    ]
}

#[test]
fn headers_are_added_replaced_and_taken_away() {
    let arguments = [
        "-H",
        "X-Added: one",
        "-H",
        "accept: text/plain",
        "-H",
        "User-Agent:",
        "-H",
        "X-Empty;",
    ];
    for head in heads(&arguments) {
        assert!(head.contains("x-added: one\n"), "{head}");
        assert!(
            head.contains("accept: text/plain\n") && !head.contains("*/*"),
            "{head}"
        );
        assert!(!head.contains("user-agent"), "{head}");
        assert!(head.lines().any(|l| l.trim_end() == "x-empty:"), "{head}");
    }
}

#[test]
fn headers_come_from_a_file_too() {
    let site = Site::start();
    let file = site.write("headers", "X-A: 1\n\nX-B: 2\n");
    let head = site.body(&["-H", &format!("@{file}"), &site.http("/head")]);
    assert!(
        head.contains("x-a: 1\n") && head.contains("x-b: 2\n"),
        "{head}"
    );
}

#[test]
fn the_host_can_be_another() {
    for head in heads(&["-H", "Host: other.example"]) {
        assert!(head.contains("other.example"), "{head}");
    }
}

#[test]
fn agent_referer_user_and_method() {
    let arguments = [
        "-A",
        "me/1",
        "-e",
        "http://from.example/",
        "-X",
        "OPTIONS",
        "-u",
        "user:secret",
    ];
    for head in heads(&arguments) {
        assert!(head.starts_with("options "), "{head}");
        assert!(head.contains("user-agent: me/1\n"), "{head}");
        assert!(head.contains("referer: http://from.example/\n"), "{head}");
        assert!(head.contains("authorization: basic "), "{head}");
    }
}

#[test]
fn a_user_may_stand_in_the_url() {
    let site = Site::start();
    let url = site.http("/auth").replace("http://", "http://user:secret@");
    site.report(&[&url]).assert_status(200);
    let refused = site.report(&["-u", "user:wrong", &site.http("/auth")]);
    assert_eq!(refused.at("/http/status"), 401);
    // The password is not in the report.
    let report = site.report(&[&url]);
    assert!(
        !report.document.to_string().contains("secret"),
        "{}",
        report.document
    );
}

#[test]
fn data_makes_a_post_and_files_lose_their_line_breaks() {
    let site = Site::start();
    let file = site.write("data", "one\r\ntwo\n");
    let at = format!("@{file}");
    for url in [site.http("/echo"), site.https("/echo")] {
        let body = site.body(&["-d", "a=b", "-d", &at, "--data-raw", "@c", &url]);
        assert_eq!(body, "a=b&onetwo&@c");
        let report = site.report(&["-d", "a=b", &url]);
        assert_eq!(report.at("/http/method"), "POST");
        assert_eq!(report.at("/http/uploaded_bytes"), 3);
    }
}

#[test]
fn binary_data_keeps_the_line_breaks_of_a_file() {
    let site = Site::start();
    let at = format!("@{}", site.write("data", "one\r\ntwo\n"));
    let body = site.body(&["--data-binary", &at, &site.http("/echo")]);
    assert_eq!(body, "one\r\ntwo\n");
}

/// Insomnia and HTTPie write the URL with a flag, and a browser's "Copy as cURL" begins with the
/// program's name.
#[test]
fn a_pasted_command_may_name_its_url_and_curl() {
    let site = Site::start();
    let url = site.http("/head");
    let flags = ["--request", "GET", "--url", &url, "--header", "X-A: 1"];
    for head in [
        site.body(&flags),
        site.body(&["curl", &url, "-H", "X-A: 1"]),
        site.body(&[&["curl"], &flags[..]].concat()),
    ] {
        assert!(head.contains("x-a: 1\n"), "{head}");
    }
    let other = site.http("/bytes/10");
    let said = site.probe(&["--json", &other, "--url", &url]);
    let urls = |text: &str| text.matches("\"url\":").count();
    assert!(urls(&said.out) >= 2, "{}", said.out);
}

#[test]
fn data_comes_from_standard_input() {
    let site = Site::start();
    let file = std::fs::File::open(site.write("data", "from stdin\n")).unwrap();
    let mut command = probe(&["-q", "-o", "-", "-d", "@-", &site.http("/echo")]);
    command.stdin(file);
    assert_eq!(said(command).out, "from stdin");
}

#[test]
fn only_the_head() {
    let site = Site::start();
    for version in ["--http1.1", "--http2"] {
        let report = site.report(&["-I", version, &site.https("/bytes/1000")]);
        report.assert_status(200);
        assert_eq!(report.at("/http/method"), "HEAD");
        assert_eq!(report.at("/http/downloaded_bytes"), 0);
    }
}

#[test]
fn the_body_goes_to_a_file_as_it_came() {
    let site = Site::start();
    let file = site.path("out");
    // A hundred thousand bytes: more than one read, one record, or one window.
    for url in [
        site.http("/bytes/100000"),
        site.https("/bytes/100000"),
        site.http("/chunked/100000"),
    ] {
        let said = site.probe(&["-q", "-o", &file, &url]);
        assert_eq!((said.code, said.out.as_str()), (0, ""), "{}", said.err);
        assert_eq!(std::fs::read(&file).unwrap().len(), 100_000);
    }
}

#[test]
fn a_file_stays_as_it_was_until_an_answer_comes() {
    let site = Site::start();
    let file = site.path("out");
    let content = || std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, "kept").unwrap();
    for url in ["http://127.0.0.1:1/", "http://nowhere.invalid/"] {
        let said = site.probe(&["-q", "-o", &file, url]);
        assert_eq!((said.code, content().as_str()), (1, "kept"), "{url}");
    }
    assert_eq!(
        site.probe(&["-q", "-o", &file, &site.http("/status/204")])
            .code,
        0
    );
    assert_eq!(content(), "");
}

#[test]
fn a_compressed_body_is_taken_apart() {
    let site = Site::start();
    for url in [
        site.http("/gzip?bytes=5000"),
        site.https("/gzip?bytes=5000"),
    ] {
        let plain = site.body(&["--compressed", &url]);
        assert_eq!(plain.len(), 5000);
        let report = site.report(&["--compressed", &url]);
        let wire = report.at("/http/downloaded_bytes").as_u64().unwrap();
        assert!(wire < 5000, "{wire}");
        assert_eq!(report.at("/http/decoded_bytes"), 5000);
    }
}

#[test]
fn redirects_are_followed_as_far_as_allowed() {
    let site = Site::start();
    for url in [site.http("/redirect/3"), site.https("/redirect/3")] {
        let followed = site.report(&["-L", &url]);
        assert_eq!(followed.results().len(), 4);
        followed.assert_status(200);
        assert_eq!(site.report(&[&url]).at("/http/status"), 302);
        let stopped = site.report(&["-L", "--max-redirs", "2", &url]);
        assert_eq!(stopped.at("/failure/kind"), "too-many-redirects");
        assert_eq!(stopped.results().len(), 3);
        assert_eq!(stopped.code, 1);
    }
}

#[test]
fn a_redirect_to_another_origin_takes_no_secrets_along() {
    let (site, other) = (Site::start(), Site::start());
    let target = other.http("/head");
    let server = crate::probe::peer::OneAnswer::start(format!(
        "HTTP/1.1 302 Found\r\nLocation: {target}\r\nContent-Length: 0\r\n\r\n"
    ));
    let head = site.body(&[
        "-L",
        "-u",
        "user:secret",
        "-H",
        "Cookie: a=b",
        &server.url("/"),
    ]);
    assert!(head.starts_with("GET /head"), "{head}");
    assert!(
        !head.contains("authorization") && !head.contains("cookie"),
        "{head}"
    );
}

#[test]
fn the_head_is_what_head_leaves_in_the_file() {
    let site = Site::start();
    let file = site.path("head");
    let url = site.http("/redirect/1");
    let said = site.probe(&["-q", "-I", "-L", "-o", &file, &url]);
    assert_eq!(said.code, 0, "{}", said.err);
    let written = std::fs::read_to_string(&file).unwrap();
    let heads: Vec<&str> = written.split_terminator("\r\n\r\n").collect();
    assert_eq!(heads.len(), 2, "{written}");
    assert!(heads[0].starts_with("HTTP/1.1 302 ") && heads[0].contains("ocation: "));
    assert!(heads[1].starts_with("HTTP/1.1 200 "), "{written}");
    let shown = site.body(&["-I", "--http2", &site.https("/bytes/20")]);
    assert!(shown.starts_with("HTTP/2 200"), "{shown}");
    assert!(shown.contains("content-length: 20\r\n"), "{shown}");
}

#[test]
fn a_command_copied_from_a_browser_is_understood() {
    let pasted = [
        "-H",
        "accept: text/html",
        "-b",
        "sid=1; theme=dark",
        "-S",
        "--compressed",
        "--globoff",
        "--retry",
        "3",
        "--curves",
        "X25519",
        "--tls-max",
        "1.3",
        "--fail",
    ];
    for head in heads(&pasted) {
        assert!(head.contains("cookie: sid=1; theme=dark\n"), "{head}");
        assert!(head.starts_with("get "), "{head}");
    }
    let refused = said(probe(&["-b", "jar.txt", "http://localhost/"]));
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("cookie files"), "{}", refused.err);
}

#[test]
fn data_becomes_a_query_and_is_encoded() {
    let site = Site::start();
    let data = site.write("data", "a&b");
    let file = format!("f@{data}");
    let encoded = [
        "--data-urlencode",
        "q=a b/ü",
        "--data-urlencode",
        &file,
        "-d",
        "x=1",
    ];
    let head = site.body(&[&encoded[..], &["-G", &site.http("/head?p=0")]].concat());
    let line = head.lines().next().unwrap();
    assert!(
        line.starts_with("GET /head?p=0&x=1&q=a%20b%2F%C3%BC&f=a%26b HTTP"),
        "{line}"
    );
}

#[test]
fn a_status_of_400_or_more_fails_when_that_is_asked() {
    let site = Site::start();
    let url = site.http("/status/404");
    for (flags, code) in [(&["-q"][..], 0), (&["-q", "--fail"], 1)] {
        let said = site.probe(&[flags, &[&url]].concat());
        assert_eq!(said.code, code, "{}", said.err);
    }
}

#[test]
fn the_newest_tls_can_be_ruled_out() {
    let site = Site::start();
    let report = site.report(&["--tls-max", "1.2", &site.https("/")]);
    assert_eq!(report.at("/tls/version"), "TLSv1.2");
}
