//! The cache through its public API.

mod kept;

use roundtrip_wire::http_date;
use tempfile::TempDir;

use super::*;
use crate::memory::DEFAULT_SIZE;

const NOW: Stamp = Stamp(1_790_000_000_000);
const URL: &str = "https://rdap.example/domain/a.example";

struct Server {
    directory: TempDir,
    memory: Memory,
}

impl Server {
    fn new() -> Self {
        Self::with_room(DEFAULT_SIZE)
    }

    fn with_room(size: u64) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let memory = Memory::open(directory.path(), size).unwrap();
        Self { directory, memory }
    }

    /// Stores an answer that arrived now.
    fn answers(&self, status: u16, headers: &[(&str, &str)]) -> bool {
        self.memory
            .keep_answer(&get(URL, &[]), &received(status, &owned(headers), b"{}"))
    }

    fn decides(&self, policy: &Policy, after: u64) -> Decision {
        self.memory.decide(&get(URL, &[]), policy, later(after))
    }

    /// The largest of these numbers of seconds for which the answer is fresh.
    fn fresh_for(&self, policy: &Policy) -> u64 {
        let mut last = 0;
        for seconds in [1, 10, 299, 300, 3599, 3600, 8640, 86_399, 86_400, 1_000_000] {
            match self.decides(policy, seconds) {
                Decision::Fresh(_) => last = seconds,
                _ => break,
            }
        }
        last
    }
}

fn get<'a>(url: &'a str, headers: &'a [(String, String)]) -> Request<'a> {
    Request {
        method: "GET",
        url,
        headers,
        credentials: false,
    }
}

fn received<'a>(status: u16, headers: &'a [(String, Vec<u8>)], body: &'a [u8]) -> Received<'a> {
    Received {
        status,
        headers,
        body,
        asked_at: NOW,
        received_at: NOW,
    }
}

fn owned(headers: &[(&str, &str)]) -> Vec<(String, Vec<u8>)> {
    headers
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec()))
        .collect()
}

fn texts(headers: &[(&str, &str)]) -> Vec<(String, String)> {
    headers
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

fn later(seconds: u64) -> Stamp {
    NOW.plus(Duration::from_secs(seconds))
}

fn date(seconds: i64) -> String {
    http_date::format(NOW.as_secs().saturating_add_signed(seconds))
}

#[test]
fn an_answer_is_found_again_in_the_next_run() {
    let server = Server::new();
    let headers = owned(&[
        ("Content-Type", "application/rdap+json"),
        ("Cache-Control", "max-age=60"),
        ("Set-Cookie", "a=b"),
    ]);
    let request = get(URL, &[]);
    assert!(
        server
            .memory
            .keep_answer(&request, &received(200, &headers, b"{\"a\": 1}"))
    );
    let memory = Memory::open(server.directory.path(), DEFAULT_SIZE).unwrap();
    let Decision::Fresh(stored) = memory.decide(&request, &Policy::default(), later(59)) else {
        panic!("it is fresh for a minute");
    };
    assert_eq!((stored.status, &stored.body[..]), (200, &b"{\"a\": 1}"[..]));
    assert_eq!(
        stored.header("Content-Type"),
        Some(&b"application/rdap+json"[..])
    );
    assert_eq!(stored.header("set-cookie"), None);
    assert_eq!(stored.age(later(59)), Duration::from_secs(59));
    assert_eq!(
        memory.decide(&request, &Policy::default(), later(60)),
        Decision::Fetch
    );
    let fragment = format!("{URL}#x");
    assert!(memory.answer(&get(&fragment, &[])).is_some());
    assert!(
        memory
            .answer(&get("https://rdap.example/domain/b.example", &[]))
            .is_none()
    );
    let accept = texts(&[("accept", "application/json")]);
    assert!(memory.answer(&get(URL, &accept)).is_none());
}

#[test]
fn how_long_an_answer_is_fresh() {
    let (ahead, behind) = (date(3600), date(-86_400));
    let expired = date(-1);
    let old = date(-100 * 86_400);
    let cases: [(&[(&str, &str)], u64); 16] = [
        (&[], 0),
        (&[("cache-control", "max-age=3600")], 3599),
        (&[("cache-control", "s-maxage=3600")], 0),
        (&[("cache-control", "max-age=3600, no-cache")], 0),
        (
            &[
                ("cache-control", "max-age=3600"),
                ("cache-control", "no-cache"),
            ],
            0,
        ),
        (&[("cache-control", "max-age=0"), ("expires", &ahead)], 0),
        (&[("cache-control", "max-age=bad"), ("expires", &ahead)], 0),
        (&[("cache-control", "public"), ("expires", &ahead)], 3599),
        (&[("expires", &expired)], 0),
        (&[("expires", "0"), ("last-modified", &old)], 0),
        (&[("cache-control", "max-age=3600"), ("age", "3300")], 299),
        (&[("cache-control", "max-age=3600"), ("age", "x")], 3599),
        (
            &[("cache-control", "max-age=90000"), ("date", &behind)],
            3599,
        ),
        // A tenth of a day, and a tenth of a hundred days, limited to one day.
        (&[("last-modified", &behind)], 3600),
        (&[("last-modified", &old)], 86_399),
        (&[("last-modified", "yesterday")], 0),
    ];
    for (headers, seconds) in cases {
        let server = Server::new();
        assert!(server.answers(200, headers), "{headers:?}");
        assert_eq!(server.fresh_for(&Policy::default()), seconds, "{headers:?}");
    }
}

#[test]
fn a_slow_answer_is_older() {
    let server = Server::new();
    let headers = owned(&[("cache-control", "max-age=60"), ("age", "10")]);
    let slow = Received {
        asked_at: Stamp(NOW.0 - 20_000),
        ..received(200, &headers, b"")
    };
    server.memory.keep_answer(&get(URL, &[]), &slow);
    assert!(matches!(
        server.decides(&Policy::default(), 29),
        Decision::Fresh(_)
    ));
    assert_eq!(server.decides(&Policy::default(), 30), Decision::Fetch);
}

#[test]
fn a_copy_from_the_future_is_not_fresh() {
    let server = Server::new();
    server.answers(200, &[("cache-control", "max-age=3600"), ("etag", "\"a\"")]);
    let earlier = NOW.minus(Duration::from_hours(1));
    let decision = server
        .memory
        .decide(&get(URL, &[]), &Policy::default(), earlier);
    assert!(matches!(decision, Decision::Revalidate { .. }));
}

#[test]
fn the_users_wishes() {
    let server = Server::new();
    let wish = |seconds| Policy {
        max_age: Some(Duration::from_secs(seconds)),
        ..Policy::default()
    };
    server.answers(200, &[("cache-control", "max-age=3600")]);
    assert_eq!(server.fresh_for(&wish(300)), 300);
    assert_eq!(server.fresh_for(&wish(86_400)), 3599);
    let refresh = Policy {
        refresh: true,
        ..Policy::default()
    };
    assert_eq!(server.decides(&refresh, 1), Decision::Fetch);
    // If the answer says nothing, the user's option applies.
    server.answers(200, &[]);
    assert_eq!(server.fresh_for(&wish(86_400)), 86_399);
    let unsaid = Policy {
        unsaid: Duration::from_mins(5),
        ..Policy::default()
    };
    assert_eq!(server.fresh_for(&unsaid), 299);
    server.answers(200, &[("cache-control", "no-cache")]);
    assert_eq!(server.fresh_for(&wish(86_400)), 0);
}

#[test]
fn not_found_is_fresh_for_minutes() {
    for (headers, seconds) in [
        (&[][..], 299),
        (&[("cache-control", "max-age=3600")], 299),
        (&[("cache-control", "max-age=20")], 10),
        (&[("cache-control", "no-cache")], 0),
    ] {
        let server = Server::new();
        assert!(server.answers(404, headers));
        assert_eq!(server.fresh_for(&Policy::default()), seconds, "{headers:?}");
    }
}

#[test]
fn without_the_network() {
    let offline = Policy {
        offline: true,
        ..Policy::default()
    };
    let server = Server::new();
    assert_eq!(
        server.decides(&offline, 0),
        Decision::NotThere(NotStoredError::Never)
    );
    server.answers(200, &[("cache-control", "max-age=60")]);
    assert!(matches!(
        server.decides(&offline, 1_000_000),
        Decision::Fresh(_)
    ));
    let young = Policy {
        max_age: Some(Duration::from_mins(10)),
        ..offline
    };
    let Decision::NotThere(why) = server.decides(&young, 3600) else {
        panic!("it is too old");
    };
    assert_eq!(
        why.to_string(),
        "the stored answer is 60 min old, older than --max-age allows; repeat the query without --offline"
    );
    server.answers(200, &[("cache-control", "max-age=60, must-revalidate")]);
    assert!(matches!(server.decides(&offline, 59), Decision::Fresh(_)));
    assert_eq!(
        server.decides(&offline, 60),
        Decision::NotThere(NotStoredError::MustAsk)
    );
}

#[test]
fn a_stale_copy_is_revalidated() {
    let server = Server::new();
    let modified = date(-10);
    server.answers(
        200,
        &[
            ("etag", "W/\"a\""),
            ("last-modified", &modified),
            ("age", "5"),
            ("content-type", "x/y"),
        ],
    );
    let Decision::Revalidate { stored, headers } = server.decides(&Policy::default(), 100) else {
        panic!("it has validators");
    };
    assert_eq!(
        headers,
        texts(&[
            ("if-none-match", "W/\"a\""),
            ("if-modified-since", &modified)
        ])
    );
    let fields = owned(&[("Cache-Control", "max-age=60"), ("ETag", "W/\"b\"")]);
    let again = Received {
        asked_at: later(100),
        received_at: later(101),
        ..received(304, &fields, b"")
    };
    let confirmed = server
        .memory
        .confirm(&get(URL, &[]), stored, &again)
        .unwrap();
    assert_eq!(confirmed.header("content-type"), Some(&b"x/y"[..]));
    assert_eq!((confirmed.status, &confirmed.body[..]), (200, &b"{}"[..]));
    assert_eq!(confirmed.header("age"), None);
    assert_eq!(
        server.decides(&Policy::default(), 102),
        Decision::Fresh(confirmed)
    );
    let Decision::Revalidate { headers, .. } = server.decides(&Policy::default(), 1000) else {
        panic!("it has validators");
    };
    assert_eq!(headers[0].1, "W/\"b\"");
}

#[test]
fn a_304_about_another_copy_is_ignored() {
    let server = Server::new();
    server.answers(200, &[("etag", "\"a\"")]);
    let stored = server.memory.answer(&get(URL, &[])).unwrap();
    for (status, tag) in [(304, "\"b\""), (200, "\"a\"")] {
        let fields = owned(&[("etag", tag)]);
        let confirmed = server.memory.confirm(
            &get(URL, &[]),
            stored.clone(),
            &received(status, &fields, b""),
        );
        assert_eq!(confirmed, None);
    }
}

#[test]
fn validators_that_could_break_a_request_are_not_sent() {
    for tag in [
        "a",
        "\"a",
        "\"a\"b\"",
        "\"a\r\nx: y\"",
        "\"a b\"",
        "w/\"a\"",
        "",
    ] {
        let server = Server::new();
        server.answers(
            200,
            &[("etag", tag), ("last-modified", "yesterday\r\nx: y")],
        );
        assert_eq!(
            server.decides(&Policy::default(), 1),
            Decision::Fetch,
            "{tag}"
        );
    }
}
