//! Pages of other origins, as far as a browser lets them send requests. WHATWG Fetch §3.2; RFC 6455
//! §10.2.

use roundtrip_gate::manage::TokenTransport;
use serde_json::{Value, json};

use crate::applications::stage::{Browser, Server, Stage, has_python, python, token};
use crate::skip;

const LOGIN: &str = "Basic YWxpY2U6c2VjcmV0";

fn stage(app: &Server, talk: &Server, origin: &str) -> Stage {
    let listed = format!("origins = [\"{origin}\"]");
    let route = |path: &str, upstream: &str, more: &str| {
        format!("[[route]]\npath = \"{path}\"\nupstream = \"{upstream}\"\n{more}\n")
    };
    let upstream = |name: &str, port: u16| {
        format!("[upstream.{name}]\nservers = [\"http://127.0.0.1:{port}\"]\n")
    };
    let answers = format!(
        "[route.cors]\npreflight = \"answer\"\n{listed}\nmethods = [\"GET\", \"PUT\"]\nexpose = [\"X-Shown\"]"
    );
    let knows = format!("[route.cors]\npreflight = \"answer\"\n{listed}\ncredentials = true");
    Stage::new(
        &[
            upstream("app", app.port),
            upstream("talk", talk.port),
            // No server listens there.
            upstream("nobody", 1),
            route("/answer", "app", &answers),
            route("/down", "nobody", &answers),
            route("/creds", "app", &knows),
            route("/pass", "app", "[route.cors]\npreflight = \"pass\""),
            route("/off", "app", ""),
            route(
                "/any",
                "app",
                "[route.cors]\npreflight = \"answer\"\norigins = [\"*\"]\nheaders = [\"*\"]",
            ),
            route(
                "/talk",
                "talk",
                &format!("upgrades = true\n[route.cors]\n{listed}"),
            ),
            route("/own", "talk", "upgrades = true"),
        ]
        .concat(),
    )
}

/// The answers that the page of this server gets.
fn visit(page: &Server, stage: &Stage) -> Option<Value> {
    let query = url::form_urlencoded::Serializer::new(String::new())
        .append_pair("gate", &format!("localhost:{}", stage.http().port()))
        .append_pair("bearer", &token(&stage.config, TokenTransport::Bearer))
        .append_pair("cookie", &token(&stage.config, TokenTransport::Cookie))
        .finish();
    Browser::new(stage).visit(&format!("http://localhost:{}/cors.html?{query}", page.port))
}

#[test]
fn a_page_of_another_origin_does_what_its_route_lets_it() {
    let test = "a_page_of_another_origin_does_what_its_route_lets_it";
    if !has_python(test, "websockets") {
        return;
    }
    let (listed, other) = (pages(), pages());
    let (app, talk) = (pages(), Server::start(&mut python("talk.py")));
    let stage = stage(&app, &talk, &format!("http://localhost:{}", listed.port));
    let Some(heard) = visit(&listed, &stage) else {
        return skip::lacking(test, "chromium");
    };
    let get = json!([200, "GET", LOGIN, null]);
    let expected = json!({
        "put": [200, "PUT", LOGIN, "yes"],
        "method": "TypeError",
        "field": "TypeError",
        // The page can read the error.
        "stranger": [401, null, null, null],
        "down": [502, null, null, null],
        "cookie": get,
        "post": [200, "POST", LOGIN, null],
        "blind": "opaque",
        "pass": get,
        "off": "TypeError",
        "any": get,
        "talk": "hello",
        "closed": "refused",
    });
    assert_eq!(heard, expected, "{heard:#}\n{}", stage.metrics());
    // A preflight has no session and no other credentials.
    let seen: Vec<(String, String, Option<String>, Option<String>)> =
        serde_json::from_value(app.get("/seen")).unwrap();
    let asked: Vec<_> = seen
        .iter()
        .filter(|(method, ..)| method == "OPTIONS")
        .collect();
    assert_eq!(asked.len(), 1, "{seen:?}");
    assert_eq!(asked[0].1, "/pass/x");
    assert_eq!((&asked[0].2, &asked[0].3), (&None, &None));
    let before = seen.len();

    let heard = visit(&other, &stage).unwrap();
    let expected = json!({
        "put": "TypeError",
        "method": "TypeError",
        "field": "TypeError",
        "stranger": "TypeError",
        "down": "TypeError",
        "cookie": "TypeError",
        "post": "TypeError",
        "blind": "opaque",
        "pass": get,
        "off": "TypeError",
        "any": get,
        "talk": "refused",
        "closed": "refused",
    });
    assert_eq!(heard, expected, "{heard:#}\n{}", stage.metrics());
    // A refused request has not reached the app: a page can do harm without reading the answer.
    let seen: Vec<(String, String, Option<String>, Option<String>)> =
        serde_json::from_value(app.get("/seen")).unwrap();
    let posted = seen[before..]
        .iter()
        .filter(|(method, ..)| method == "POST");
    assert_eq!(posted.count(), 0, "{seen:?}");
    // Preflights for six, two posts and two sockets; and one socket of the listed page.
    let counted = stage.metric("turned_away_total{by=\"denied\",reason=\"origin\"}");
    assert!(counted >= 8, "{counted}\n{}", stage.metrics());
}

fn pages() -> Server {
    Server::start(&mut python("pages.py"))
}
