//! Routes are pure functions, and are tested as such.

use std::time::Duration;

use http::header::{AUTHORIZATION, CONTENT_ENCODING, EXPECT, LOCATION, SET_COOKIE};
use http::request::Builder;
use proptest::prelude::*;

use super::*;
use crate::body::AnswerBody;
use crate::{EarlyData, Knobs, OriginCounters};

fn site(knobs: &Knobs) -> OriginState {
    OriginState::new(knobs, 4433, std::sync::Arc::new(OriginCounters::default()))
}

fn ask_as(knobs: &Knobs, builder: Builder, early: bool) -> AnswerPlan {
    let (parts, ()) = builder.body(()).unwrap().into_parts();
    let request = OriginRequest::new(parts, true, early);
    plan(&request, &site(knobs))
}

fn ask(path: &str) -> AnswerPlan {
    ask_as(&Knobs::default(), http::Request::get(path), false)
}

fn header(plan: &AnswerPlan, name: http::HeaderName) -> &str {
    plan.headers
        .get(name)
        .map_or("", |value| value.to_str().unwrap())
}

#[test]
fn sizes_and_waits_are_those_of_the_path() {
    assert_eq!(ask("/bytes/1000000").body, AnswerBody::Fill(1_000_000));
    assert_eq!(ask("/delay/250").think, Duration::from_millis(250));
    assert_eq!(ask("/status/503").status, 503);
    assert!(ask("/chunked/10").unsized_body);
    assert_eq!(ask("/truncated/10").cut, Some(5));
    let drip = ask("/drip?bytes=100&every=5");
    assert_eq!((drip.body.len(), drip.piece), (100, 10));
    assert_eq!(drip.every, Duration::from_millis(5));
    assert_eq!(ask("/status/204").body.len(), 0);
}

#[test]
fn impossible_values_are_refused() {
    for path in [
        "/bytes/-1",
        "/bytes/x",
        "/bytes/99999999999999999999",
        "/status/100",
        "/status/600",
        "/delay/600001",
        "/headers/1048577",
    ] {
        assert_eq!(ask(path).status, 400, "{path}");
    }
    for path in ["/nowhere", "/bytes", "//", "/x/1", "/stats/1"] {
        assert_eq!(ask(path).status, 404, "{path}");
    }
    let connect = ask_as(
        &Knobs::default(),
        http::Request::connect("example.com:443"),
        false,
    );
    assert_eq!(connect.status, 501);
}

#[test]
fn redirects_end_and_loops_do_not() {
    assert_eq!(header(&ask("/redirect/3"), LOCATION), "/redirect/2");
    assert_eq!(ask("/redirect/0").status, 200);
    let permanent = ask("/redirect/2?status=308");
    assert_eq!(permanent.status, 308);
    assert_eq!(header(&permanent, LOCATION), "/redirect/1?status=308");
    assert_eq!(header(&ask("/loop"), LOCATION), "/loop");
    let asked = http::Request::get("/secure").header("host", "localhost:8080");
    let secure = ask_as(&Knobs::default(), asked, false);
    assert_eq!(header(&secure, LOCATION), "https://localhost:4433/");
}

#[test]
fn credentials_must_be_right() {
    let shown = |value: &str| {
        let asked = http::Request::get("/auth").header(AUTHORIZATION, value);
        ask_as(&Knobs::default(), asked, false).status.as_u16()
    };
    assert_eq!(ask("/auth").status, 401);
    assert_eq!(shown("Basic dXNlcjpzZWNyZXQ="), 200);
    assert_eq!(shown("basic dXNlcjpzZWNyZXQ="), 200);
    assert_eq!(shown("Basic dXNlcjp3cm9uZw=="), 401);
    assert_eq!(shown("Bearer dXNlcjpzZWNyZXQ="), 401);
}

#[test]
fn cookies_count_visits() {
    let asked = http::Request::get("/cookie").header("cookie", "a=1; visits=41");
    let plan = ask_as(&Knobs::default(), asked, false);
    assert!(header(&plan, SET_COOKIE).starts_with("visits=42;"));
    assert!(header(&ask("/cookie"), SET_COOKIE).starts_with("visits=1;"));
}

#[test]
fn early_requests_are_refused_only_where_the_knob_says_so() {
    let mut knobs = Knobs::default();
    assert_eq!(ask_as(&knobs, http::Request::get("/"), true).status, 200);
    knobs.tls.early_data = EarlyData::TooEarly;
    assert_eq!(ask_as(&knobs, http::Request::get("/"), true).status, 425);
    assert_eq!(ask_as(&knobs, http::Request::get("/"), false).status, 200);
}

#[test]
fn expectations_are_met_or_refused() {
    let mut knobs = Knobs::default();
    let asked = |value: &str| http::Request::post("/echo").header(EXPECT, value);
    assert_eq!(ask_as(&knobs, asked("100-Continue"), false).status, 200);
    assert_eq!(ask_as(&knobs, asked("miracles"), false).status, 417);
    knobs.http.expect = Expect::Refuse;
    let refused = ask_as(&knobs, asked("100-continue"), false);
    assert!(refused.hasty && refused.status == 417);
}

#[test]
fn every_answer_is_dressed() {
    let mut knobs = Knobs::default();
    knobs.http.header_bytes = 10_000;
    knobs.http.think = Duration::from_millis(5);
    knobs.http.gzip = true;
    let asked = http::Request::get("/bytes/5000").header("accept-encoding", "gzip");
    let plan = ask_as(&knobs, asked, false);
    let size: usize = plan
        .headers
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len() + 4)
        .sum();
    assert!((10_000..10_400).contains(&size), "{size}");
    assert_eq!(plan.think, Duration::from_millis(5));
    assert_eq!(header(&plan, CONTENT_ENCODING), "gzip");
    assert!(plan.body.len() < 1_000, "{}", plan.body.len());
    let alt_svc = header(&plan, http::header::ALT_SVC);
    assert_eq!(alt_svc, "h3=\":4433\"; ma=86400");
}

proptest! {
    #[test]
    fn no_path_is_too_strange(path in "/[ -~]{0,60}", early: bool) {
        if let Ok(uri) = path.parse::<http::Uri>() {
            let plan = ask_as(&Knobs::default(), http::Request::get(uri), early);
            prop_assert!(plan.status.as_u16() >= 200);
        }
    }

    #[test]
    fn no_number_is_too_large(route in "bytes|chunked|truncated|headers|delay|status|redirect", n: u64) {
        let plan = ask(&format!("/{route}/{n}"));
        prop_assert!(plan.status.as_u16() >= 200);
    }
}

fn json(plan: &AnswerPlan) -> serde_json::Value {
    match &plan.body {
        AnswerBody::Held(bytes) => serde_json::from_slice(bytes).unwrap(),
        _ => serde_json::Value::Null,
    }
}

#[test]
fn the_registry_knows_what_it_is_asked_for() {
    for (path, class) in [
        ("/rdap/domain/Example.com", "domain"),
        ("/rdap/nameserver/ns1.example.net", "nameserver"),
        ("/rdap/entity/X-EXAMPLE", "entity"),
        ("/rdap/ip/192.0.2.7", "ip network"),
        ("/rdap/ip/2001:db8::/48", "ip network"),
        ("/rdap/autnum/64500", "autnum"),
        ("/registrar/domain/example.com", "domain"),
    ] {
        let plan = ask(path);
        assert_eq!(plan.status, 200, "{path}");
        assert_eq!(json(&plan)["objectClassName"], class, "{path}");
        assert_eq!(
            header(&plan, http::header::CONTENT_TYPE),
            "application/rdap+json"
        );
    }
    assert_eq!(
        json(&ask("/rdap/ip/192.0.2.7"))["endAddress"],
        "192.0.2.255"
    );
    for (path, status) in [
        ("/rdap/domain/missing-1.example", 404),
        ("/rdap/domain/busy.example", 429),
        ("/rdap/domain/loop.example", 302),
        ("/rdap/autnum/x", 400),
        ("/rdap/nothing", 404),
        ("/registrar/domain/unknown.example", 404),
    ] {
        assert_eq!(ask(path).status, status, "{path}");
    }
}

#[test]
fn the_registry_relents_and_counts() {
    let site = site(&Knobs::default());
    let asked = |path: &str, known: &str| {
        let builder = http::Request::get(path).header("if-none-match", known);
        let (parts, ()) = builder.body(()).unwrap().into_parts();
        plan(&OriginRequest::new(parts, true, false), &site)
    };
    let busy = "/rdap/domain/busy.example";
    let statuses: Vec<u16> = (0..4).map(|_| asked(busy, "").status.as_u16()).collect();
    assert_eq!(statuses, [429, 429, 200, 200]);
    let tag = header(&asked(busy, ""), http::header::ETAG).to_owned();
    assert_eq!(asked(busy, &tag).status, 304);
    assert_eq!(json(&asked("/rdap-asked", ""))[busy], 6);
}

#[test]
fn a_search_is_told_page_by_page() {
    let mut path = "/rdap/domains?name=exam*".to_owned();
    let mut pages = Vec::new();
    loop {
        let page = json(&ask(&path));
        pages.push(page["domainSearchResults"].as_array().unwrap().len());
        match page["paging_metadata"]["links"][0]["href"].as_str() {
            Some(next) => path = next.strip_prefix("https://localhost").unwrap().to_owned(),
            None => break,
        }
    }
    assert_eq!(pages, [50, 50, 20]);
}
