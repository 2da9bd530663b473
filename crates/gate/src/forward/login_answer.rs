//! Answers about logins: redirections with cookies, and small pages for people. No page contains
//! anything from a request.

use super::exchange::Sink;
use super::h1::{Response, ResponseBody};
use super::own_answer::title;
use crate::judge::request::{self, Field};
use crate::judge::{LoginPage, LoginReply};
use crate::record::Caller;

/// The pages have no scripts.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors";

const HTML: &[u8] = b"text/html; charset=utf-8";

/// Writes a reply with its own page, or without one; `challenge` is for 401.
pub(super) fn tell(reply: &LoginReply, challenge: &str, caller: &Caller, to: &mut impl Sink) {
    let page = page(reply);
    let (body, kind) = match (&page, &reply.page) {
        (_, LoginPage::Challenge { answer }) => (answer.clone(), &b"application/octet-stream"[..]),
        (Some((title, text)), _) => (html(title, text), HTML),
        (None, _) => (String::new(), HTML),
    };
    let length = body.len().to_string();
    // No other site may frame a page with a button.
    let frames = match &reply.page {
        LoginPage::LoggedOutInFrame { origins } => origins,
        _ => "'none'",
    };
    let policy = format!("{POLICY} {frames}");
    let field = |name, value| Field { name, value };
    let usual = [
        field("Content-Type", kind),
        field("Content-Length", length.as_bytes()),
        field("Cache-Control", b"no-store"),
        field("X-Content-Type-Options", b"nosniff"),
        // A callback's URL has a code in it.
        field("Referrer-Policy", b"same-origin"),
        field("Content-Security-Policy", policy.as_bytes()),
    ];
    let location = reply.location.as_ref();
    let location = location.map(|location| field("Location", location.as_bytes()));
    let cookies = reply
        .cookies
        .iter()
        .map(|cookie| field("Set-Cookie", cookie.as_bytes()));
    let challenge =
        (reply.status == 401).then_some(field("WWW-Authenticate", challenge.as_bytes()));
    let id = field(request::ID, caller.id.as_bytes());
    let more: Vec<Field<'_>> = std::iter::once(id)
        .chain(challenge)
        .chain(location)
        .chain(cookies)
        .collect();
    let response = Response::new(reply.status, title(reply.status), &usual);
    to.head(&response, ResponseBody::None, &more);
    if !caller.is_head {
        to.push(body.as_bytes());
    }
}

/// The page's title, and its text as HTML.
fn page(reply: &LoginReply) -> Option<(&'static str, String)> {
    match &reply.page {
        LoginPage::Usual | LoginPage::LoggedOutInFrame { .. } | LoginPage::Challenge { .. } => None,
        LoginPage::LogOut { path } => Some((
            "Log out",
            format!("<form method=\"post\" action=\"{path}\"><button>Log out</button></form>"),
        )),
        LoginPage::LogInElsewhere { path } => Some((
            "You are not logged in",
            format!(
                "<p>What you sent was not passed on, but it is not lost: \
                 <a href=\"{path}\" target=\"_blank\" rel=\"noopener\">log in in another tab</a>, then reload this page \
                 to send it again, or go back to change it first.</p>"
            ),
        )),
        LoginPage::LoggedIn => Some((
            "You are logged in",
            "<p>Go back to the other tab, and send the page again.</p>".into(),
        )),
        LoginPage::LoggedOut => Some(("You are logged out", String::new())),
    }
}

fn html(title: &str, text: &str) -> String {
    format!(
        "<!DOCTYPE html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"color-scheme\" content=\"light dark\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>{title}</title><h1>{title}</h1>{text}</html>\n"
    )
}
