//! Which requests lead to the provider, which are refused, and which it leaves alone.

use super::*;
use crate::config::Config;
use crate::judge::request::{Field, inspect};

fn rules(more: &str) -> LoginRules {
    let text = format!("[login]\nissuer = \"https://login.example\"\nclient_id = \"c\"\n{more}");
    LoginRules::new(&Config::parse(&text, "test").unwrap().login.unwrap())
}

/// The decision about a request over TLS for `app.example`, as a word.
fn said(method: &str, target: &str, fields: &[(&str, &str)]) -> String {
    said_by(&rules(""), method, target, fields)
}

fn said_by(rules: &LoginRules, method: &str, target: &str, fields: &[(&str, &str)]) -> String {
    let host = ("Host", "app.example");
    let fields: Vec<Field<'_>> = std::iter::once(&host)
        .chain(fields)
        .map(|(name, value)| Field {
            name,
            value: value.as_bytes(),
        })
        .collect();
    let request = Request {
        method,
        target,
        ..Request::get(&fields)
    };
    let inspected = inspect(&request, 1000).unwrap();
    let own = OwnOrigin::new(&request, &inspected, true, &[]);
    let answer = if rules.own(inspected.path) {
        Some(rules.answer(&request, &inspected, &own))
    } else {
        rules.turn_away(&request, &inspected, &own, Reason::NoToken)
    };
    match answer {
        None => "as usual".into(),
        Some(LoginAnswer::Now(reply)) => format!("{} {:?}", reply.status, reply.page),
        Some(LoginAnswer::Later(asked)) => match asked.order {
            LoginOrder::Begin {
                origin,
                return_to,
                surplus,
            } => {
                let surplus = surplus.iter().map(|name| format!(" -{name}"));
                let surplus: String = surplus.collect();
                format!("begin at {origin} for {}{surplus}", return_to.as_str())
            }
            LoginOrder::Callback { query, states, .. } => format!("callback {query} {states:?}"),
            LoginOrder::LogOut { session } => format!("log out {session:?}"),
            LoginOrder::ProviderLogout => "provider".into(),
            LoginOrder::FrameLogout { query } => format!("frame {query}"),
        },
    }
}

const PAGE: (&str, &str) = ("Accept", "text/html,*/*;q=0.8");
const NAVIGATE: (&str, &str) = ("Sec-Fetch-Mode", "navigate");

#[test]
fn pages_lead_to_the_provider_and_programs_do_not() {
    let begun = "begin at https://app.example for /a?b";
    for (fields, expected) in [
        (&[PAGE][..], begun),
        (&[NAVIGATE], begun),
        (&[NAVIGATE, ("Accept", "*/*")], begun),
        (&[], "as usual"),
        (&[("Accept", "application/json")], "as usual"),
        (&[PAGE, ("Sec-Fetch-Mode", "cors")], "as usual"),
        (
            &[PAGE, ("Connection", "upgrade"), ("Upgrade", "websocket")],
            "as usual",
        ),
    ] {
        assert_eq!(said("GET", "/a?b", fields), expected, "{fields:?}");
        assert_eq!(said("HEAD", "/a?b", fields), expected, "{fields:?}");
    }
}

#[test]
fn forms_are_not_redirected_to_the_provider() {
    let form = [PAGE, NAVIGATE, ("Content-Length", "3")];
    for (method, fields) in [("POST", &form[..]), ("GET", &form[..]), ("POST", &[PAGE])] {
        let said = said(method, "/form", fields);
        assert!(said.starts_with("401 LogInElsewhere"), "{said}");
        assert!(
            said.contains("/.gate/login?return=/.gate/login%3Fdone"),
            "{said}"
        );
    }
    assert_eq!(
        said("POST", "/form", &[("Content-Length", "3")]),
        "as usual"
    );
}

#[test]
fn own_paths_are_answered_as_they_are_written() {
    for (method, target, expected) in [
        ("GET", "/.gate/login", "begin at https://app.example for /"),
        (
            "GET",
            "/.gate/login?return=/x%3Fy",
            "begin at https://app.example for /x?y",
        ),
        (
            "GET",
            "/.gate/login?return=//evil.example",
            "begin at https://app.example for /",
        ),
        (
            "GET",
            "/.gate/login?return=https://evil.example/",
            "begin at https://app.example for /",
        ),
        (
            "GET",
            "/.gate/login?return=/%5Cevil.example",
            "begin at https://app.example for /",
        ),
        (
            "GET",
            "/.gate/login?return=/.gate/callback",
            "begin at https://app.example for /",
        ),
        ("GET", "/.gate/login?done", "200 LoggedIn"),
        ("POST", "/.gate/login", "405 Usual"),
        ("GET", "/.gate/callback?code=a", "callback code=a []"),
        ("HEAD", "/.gate/callback?code=a", "405 Usual"),
        (
            "GET",
            "/.gate/logout",
            "200 LogOut { path: \"/.gate/logout\" }",
        ),
        ("POST", "/.gate/logout", "200 LoggedOut"),
        ("POST", "/.gate/backchannel-logout", "provider"),
        ("GET", "/.gate/backchannel-logout", "405 Usual"),
        ("GET", "/.gate/frontchannel-logout?sid=s", "frame sid=s"),
        ("POST", "/.gate/frontchannel-logout", "405 Usual"),
        ("GET", "/.gate/%6cogin", "as usual"),
        ("GET", "/.gate/login/", "as usual"),
        ("GET", "/.gate", "as usual"),
    ] {
        assert_eq!(said(method, target, &[]), expected, "{method} {target}");
    }
    let cookies = (
        "Cookie",
        "__Host-gate-login-3=x; __Host-gate=y; __Host-gate-login-4=z",
    );
    let callback = said("GET", "/.gate/callback?state=s", &[cookies]);
    assert_eq!(callback, "callback state=s [\"x\", \"z\"]");
}

#[test]
fn the_oldest_of_too_many_logins_in_progress_are_forgotten() {
    let begun = |count: usize| {
        let states: Vec<String> = (1..=count)
            .map(|number| format!("__Host-gate-login-{number}=x"))
            .collect();
        let states = format!("__Host-gate-login-\u{e4}=x; {}", states.join("; "));
        said("GET", "/", &[PAGE, ("Cookie", &states)])
    };
    let at = "begin at https://app.example for /";
    assert_eq!(begun(6), at);
    assert_eq!(begun(7), at, "a name that would be invalid is not removed");
    assert_eq!(
        begun(9),
        format!("{at} -__Host-gate-login-1 -__Host-gate-login-2")
    );
}

/// Browsers send `SameSite=Lax` cookies with POSTs of sibling hosts.
#[test]
fn no_other_page_logs_anybody_out() {
    let cookie = ("Cookie", "__Host-gate=y");
    let out = "log out Some(\"y\")";
    for (fields, expected) in [
        (&[cookie][..], out),
        (&[cookie, ("Origin", "https://app.example")], out),
        (
            &[cookie, ("Origin", "https://evil.app.example")],
            "403 Usual",
        ),
        (&[cookie, ("Origin", "null")], "403 Usual"),
        (
            &[
                cookie,
                ("Sec-Fetch-Site", "same-origin"),
                ("Origin", "null"),
            ],
            out,
        ),
        (&[cookie, ("Sec-Fetch-Site", "same-site")], "403 Usual"),
        (&[cookie, ("Sec-Fetch-Site", "cross-site")], "403 Usual"),
    ] {
        assert_eq!(
            said("POST", "/.gate/logout", fields),
            expected,
            "{fields:?}"
        );
    }
    let rules = rules("origin = \"https://outside.example\"");
    let fields = [cookie, ("Origin", "https://outside.example")];
    assert_eq!(said_by(&rules, "POST", "/.gate/logout", &fields), out);
}

#[test]
fn only_gate_sets_its_own_cookies() {
    let rules = rules("");
    for (name, value, own) in [
        ("Set-Cookie", "__Host-gate=x; Path=/; Secure", true),
        ("set-cookie", " __Host-gate =x", true),
        ("set-cookie", "=__Host-gate=x", true),
        ("set-cookie", "__Host-gate-login-abc=x", true),
        ("set-cookie", "app=__Host-gate", false),
        ("set-cookie", "__Host-gated=x", false),
        ("set-cookie", "", false),
        ("x-set-cookie", "__Host-gate=x", false),
    ] {
        let value = value.as_bytes();
        let field = Field { name, value };
        assert_eq!(rules.sets_own_cookie(&field), own, "{name}: {value:?}");
    }
}
