//! The origins that may ask, and the answers that browsers get.

use super::*;
use crate::judge::request::inspect;

fn settings(text: &str) -> config::Cors {
    let text = format!("[[route]]\n[route.cors]\n{text}");
    let config = config::Config::parse(&text, "test").unwrap();
    config.route[0].cors.clone()
}

fn cors(text: &str) -> CorsPolicy {
    CorsPolicy::new(&settings(text)).unwrap()
}

/// Calls `look` with a request that has these fields.
fn with<T>(
    method: &str,
    fields: &[(&str, &str)],
    look: impl FnOnce(&Request<'_>, &Inspected<'_>) -> T,
) -> T {
    let mut all = vec![("Host", "own.example:8080")];
    all.extend(fields);
    let fields = all.iter().map(|(name, value)| Field {
        name,
        value: value.as_bytes(),
    });
    let fields: Vec<Field<'_>> = fields.collect();
    let request = Request {
        method,
        ..Request::get(&fields)
    };
    let inspected = inspect(&request, 100).unwrap();
    look(&request, &inspected)
}

fn asked(cors: &CorsPolicy, method: &str, fields: &[(&str, &str)]) -> Option<CorsDecision> {
    with(method, fields, |request, inspected| {
        cors.asked(request, inspected)
    })
}

const ORIGIN: (&str, &str) = ("Origin", "https://app.example");
const PUT: (&str, &str) = ("Access-Control-Request-Method", "PUT");

fn lines(grant: &CorsHeaders) -> Vec<String> {
    let line = |field: Field<'_>| format!("{}: {}", field.name, field.value.escape_ascii());
    grant.fields().map(line).collect()
}

#[test]
fn settings_that_contradict_themselves_are_refused() {
    for (text, key) in [
        ("origins = [\"*\"]\ncredentials = true", "credentials"),
        ("origins = [\"*\", \"https://a\"]", "origins"),
        ("preflight = \"answer\"", "origins"),
        ("origins = [\"app.example\"]", "origins"),
        ("origins = [\"https://app.example/\"]", "origins"),
        ("origins = [\"https://App.example\"]", "origins"),
        ("origins = [\"https://app.example:443\"]", "origins"),
        ("origins = [\"null\"]", "origins"),
        ("origins = [\"https://*.example\"]", "origins"),
        ("methods = [\"GET, PUT\"]", "methods"),
        ("headers = [\"*\", \"A\"]", "headers"),
        ("expose = [\"X A\"]", "expose"),
    ] {
        let error = CorsPolicy::new(&settings(text))
            .err()
            .map(|error| error.key);
        assert_eq!(error, Some(key), "{text}");
    }
    for text in [
        "origins = [\"https://app.example\", \"http://localhost:3000\"]\ncredentials = true",
        "origins = [\"capacitor://localhost\"]",
        "origins = [\"*\"]\npreflight = \"answer\"",
        "preflight = \"pass\"",
    ] {
        assert!(CorsPolicy::new(&settings(text)).is_ok(), "{text}");
    }
}

#[test]
fn preflights_are_answered_passed_on_or_refused() {
    let answers = cors("preflight = \"answer\"\norigins = [\"https://app.example\"]");
    let Some(CorsDecision::Answered(grant)) = asked(&answers, "OPTIONS", &[ORIGIN, PUT]) else {
        panic!("not answered");
    };
    let expected = [
        "Access-Control-Allow-Origin: https://app.example",
        "Vary: Origin",
        "Access-Control-Allow-Methods: GET, HEAD, POST, PUT, PATCH, DELETE",
        "Access-Control-Allow-Headers: Authorization, Content-Type",
        "Access-Control-Max-Age: 600",
        "Vary: Access-Control-Request-Method, Access-Control-Request-Headers",
    ];
    assert_eq!(lines(&grant), expected);
    let other = ("Origin", "https://app.example.evil.example");
    assert_eq!(
        asked(&answers, "OPTIONS", &[other, PUT]),
        Some(CorsDecision::Refused)
    );
    for fields in [
        vec![ORIGIN],
        vec![PUT],
        vec![ORIGIN, ORIGIN, PUT],
        vec![ORIGIN, PUT, ("Content-Length", "1")],
        vec![ORIGIN, PUT, ("X-HTTP-Method-Override", "DELETE")],
        vec![
            ORIGIN,
            PUT,
            ("Connection", "upgrade"),
            ("Upgrade", "websocket"),
        ],
    ] {
        assert_eq!(asked(&answers, "OPTIONS", &fields), None, "{fields:?}");
        let passes = cors("preflight = \"pass\"");
        assert_eq!(asked(&passes, "OPTIONS", &fields), None, "{fields:?}");
    }
    let passes = cors("preflight = \"pass\"");
    assert_eq!(
        asked(&passes, "OPTIONS", &[ORIGIN, PUT]),
        Some(CorsDecision::Anonymous)
    );
    for method in ["GET", "PUT", "options"] {
        assert_eq!(asked(&passes, method, &[ORIGIN, PUT]), None, "{method}");
    }
    let off = cors("origins = [\"https://app.example\"]");
    assert_eq!(asked(&off, "OPTIONS", &[ORIGIN, PUT]), None);
}

#[test]
fn wishes_are_said_again_where_all_are_granted() {
    let any =
        cors("preflight = \"answer\"\norigins = [\"*\"]\nheaders = [\"*\"]\nmethods = [\"*\"]");
    let headers = |wish| [ORIGIN, PUT, ("Access-Control-Request-Headers", wish)];
    let Some(CorsDecision::Answered(grant)) =
        asked(&any, "OPTIONS", &headers("x-a, authorization"))
    else {
        panic!("not answered");
    };
    let expected = [
        "Access-Control-Allow-Origin: *",
        "Access-Control-Allow-Methods: PUT",
        "Access-Control-Allow-Headers: x-a, authorization",
        "Access-Control-Max-Age: 600",
        "Vary: Access-Control-Request-Method, Access-Control-Request-Headers",
    ];
    assert_eq!(lines(&grant), expected);
    let long = "x,".repeat(MAX_REQUEST_HEADERS);
    for wish in ["a b", "a;b", "", long.as_str()] {
        let Some(CorsDecision::Answered(grant)) = asked(&any, "OPTIONS", &headers(wish)) else {
            panic!("not answered");
        };
        assert!(!lines(&grant).concat().contains("Allow-Headers"), "{wish}");
    }
}

#[test]
fn answers_tell_whom_they_are_for() {
    let told = |cors: &CorsPolicy, fields: &[(&str, &str)]| {
        let grant = with("GET", fields, |request, _| cors.grant(request));
        grant.map(|grant| (lines(&grant), grant.passes("Access-Control-Allow-Origin")))
    };
    let listed = cors(
        "preflight = \"answer\"\norigins = [\"https://app.example\"]\ncredentials = true\nexpose = [\"X-A\"]",
    );
    let all = vec![
        "Access-Control-Allow-Origin: https://app.example".to_owned(),
        "Access-Control-Allow-Credentials: true".into(),
        "Access-Control-Expose-Headers: X-A".into(),
        "Vary: Origin".into(),
    ];
    assert_eq!(told(&listed, &[ORIGIN]), Some((all, false)));
    let vary = vec!["Vary: Origin".to_owned()];
    assert_eq!(told(&listed, &[]), Some((vary.clone(), false)));
    assert_eq!(told(&listed, &[("Origin", "null")]), Some((vary, false)));
    let passes = cors("preflight = \"pass\"\norigins = [\"https://app.example\"]");
    assert!(told(&passes, &[ORIGIN]).unwrap().1);
    assert_eq!(told(&cors("preflight = \"pass\""), &[ORIGIN]), None);
    assert_eq!(told(&cors(""), &[ORIGIN]), None);
}

fn is_foreign(cors: &CorsPolicy, method: &str, upgrades: bool, origin: &str, secure: bool) -> bool {
    with(method, &[("Origin", origin)], |request, inspected| {
        let own = OwnOrigin::new(request, inspected, secure, &[]);
        cors.is_foreign(request, upgrades, &own, || true)
    })
}

#[test]
fn a_page_that_nobody_knows_does_nothing_by_a_cookie() {
    let none = CorsPolicy::default();
    for (origin, secure, foreign) in [
        ("http://own.example:8080", false, false),
        ("https://own.example:8080", true, false),
        // TLS ended before gate.
        ("https://own.example:8080", false, false),
        ("http://own.example:8080", true, true),
        ("http://own.example", false, true),
        ("http://other.example:8080", false, true),
        ("http://own.example.other:8080", false, true),
        ("http://own.example:8080/", false, true),
        ("http://own.example:8080@evil", false, true),
        ("null", false, true),
        ("", false, true),
        ("ftp://own.example:8080", false, true),
    ] {
        assert_eq!(
            is_foreign(&none, "GET", true, origin, secure),
            foreign,
            "{origin}"
        );
        assert!(
            !is_foreign(&none, "POST", false, origin, secure),
            "{origin}"
        );
    }
    let listed = cors("origins = [\"https://app.example\"]");
    let evil = "https://evil.example";
    assert!(!is_foreign(&listed, "GET", true, ORIGIN.1, false));
    assert!(!is_foreign(&listed, "POST", false, ORIGIN.1, false));
    assert!(!is_foreign(&listed, "GET", false, evil, false));
    assert!(is_foreign(&listed, "POST", false, evil, false));
    // An origin that may read without cookies may do nothing with them.
    let any = cors("origins = [\"*\"]");
    assert!(is_foreign(&any, "GET", true, evil, false));
    let both = [("Origin", "http://own.example:8080"), ("Origin", evil)];
    let seen = with("GET", &both, |request, inspected| {
        let own = OwnOrigin::new(request, inspected, false, &[]);
        (
            none.is_foreign(request, true, &own, || true),
            none.is_foreign(request, true, &own, || false),
        )
    });
    assert_eq!(seen, (true, false));
}

#[test]
fn a_proxy_that_is_trusted_says_what_the_client_asked_for() {
    let fields = [
        ("Origin", "https://public.example"),
        ("X-Forwarded-Proto", "https"),
        ("X-Forwarded-Host", "public.example"),
    ];
    for (trusted, foreign) in [(true, false), (false, true)] {
        let seen = with("GET", &fields, |request, inspected| {
            let fields = config::Listen::default().lowercase_trusted_fields();
            let trusted_fields: &[String] = if trusted { &fields } else { &[] };
            let own = OwnOrigin::new(request, inspected, false, trusted_fields);
            CorsPolicy::default().is_foreign(request, true, &own, || true)
        });
        assert_eq!(seen, foreign);
    }
}
