//! Answers that only tell the client to ask again.

use std::time::Duration;

use roundtrip_explain::findings;
use roundtrip_model::{Answer, Event, Exchange, HttpFacts};

use crate::story::{R, Story, assert_only, assert_silent, secured};

fn answered(url: &str, method: &str, status: u16, headers: &[(&str, &str)]) -> Exchange {
    let mut story = if url.starts_with("https") {
        secured()
    } else {
        Story::new().looked_up(Answer::Hosts, 0.1).connected(0.0)
    };
    story.e.url = url.into();
    let location = headers.iter().find(|(n, _)| *n == "location");
    story.e.http = Some(HttpFacts {
        method: method.into(),
        version: "1.1".into(),
        status,
        keep_alive: true,
        redirect: location.map(|(_, v)| (*v).to_owned()),
        headers: headers
            .iter()
            .map(|(n, v)| ((*n).to_owned(), v.as_bytes().to_vec()))
            .collect(),
        ..HttpFacts::default()
    });
    story.asked().told(0.4).end()
}

fn moved(url: &str, to: &str) -> Exchange {
    answered(url, "GET", 301, &[("location", to)])
}

#[test]
fn a_redirect_from_http_to_https_wastes_everything() {
    let e = moved("http://shop.example/a", "https://shop.example/a");
    assert_only(&e, "redirect-to-https", 2.0 * R, 2);
    let e = moved("http://shop.example/a", "https://www.shop.example/a");
    assert_only(&e, "redirect", 2.0 * R, 2);
}

#[test]
fn at_the_same_origin_the_connection_stays_in_use() {
    let e = moved("https://shop.example/a", "/b");
    let found = assert_only(&e, "redirect", R, 1);
    assert!(found.evidence.contains("301 to /b"), "{}", found.evidence);
    let e = moved("https://shop.example/a", "https://other.example/");
    assert_only(&e, "redirect", 3.0 * R, 3);
}

/// A machine that was busy meanwhile is not the redirect's fault.
#[test]
fn a_redirect_does_not_cost_what_the_client_was_absent() {
    let mut e = moved("https://shop.example/a", "/b");
    let took = Duration::from_millis(40);
    let end = e.timeline.end() + took;
    e.timeline.push(
        end,
        Event::Starved {
            took,
            throttled: false,
        },
    );
    e.timeline.push(end, Event::Finished);
    let found = findings(&e).into_iter();
    let found: Vec<(&str, f64)> = found.map(|f| (f.id, f.ms.round())).collect();
    assert_eq!(found, [("redirect", R + 1.0), ("client-starved", 40.0)]);
}

#[test]
fn after_a_post_a_redirect_is_not_a_detour() {
    let e = answered("https://shop.example/", "POST", 303, &[("location", "/b")]);
    assert_silent(&e);
    assert_silent(&answered("https://shop.example/", "GET", 304, &[]));
}

#[test]
fn a_challenge() {
    let url = "https://shop.example/";
    let e = answered(url, "GET", 401, &[("WWW-Authenticate", "Negotiate x")]);
    let found = assert_only(&e, "auth-challenge", R, 1);
    assert!(found.evidence.contains("asks for Negotiate"), "{found:?}");
    assert_silent(&answered(url, "GET", 401, &[]));
}

#[test]
fn a_preflight() {
    let url = "https://shop.example/";
    let allow = ("access-control-allow-origin", "*");
    let methods = ("access-control-allow-methods", "PUT");
    assert_only(
        &answered(url, "OPTIONS", 204, &[allow, methods]),
        "cors-preflight",
        R,
        1,
    );
    assert_silent(&answered(url, "OPTIONS", 204, &[]));
    assert_silent(&answered(url, "GET", 200, &[allow]));
}
