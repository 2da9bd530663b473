//! What a request gets because of logins: gate's own paths, and the answer to a request that has no
//! session on a route where people may log in.
//!
//! A page is answered with the way to the provider, and a program with 401, which it understands. A
//! form is never sent to the provider, because what was written into it would be lost: its sender
//! gets 401 with a page that offers to log in in another tab, and can then send it again.

use std::borrow::Cow;

use url::form_urlencoded::parse;

use super::{LoginOrder, LoginPage, LoginReply, LoginRequest, ReturnPath, session_name};
use crate::config::{Login, LoginToken};
use crate::judge::cors::OwnOrigin;
use crate::judge::request::{Body, Field, Inspected, Request, cookie, cookies_with, prefers_page};
use crate::record::Reason;

/// The query of the page that says that a login is complete.
const DONE: &str = "done";
/// The largest number of cookies of logins in progress that a browser keeps, approximately, so that
/// heads stay small.
const MAX_STATES: usize = 8;

/// The part of the settings that requests are judged by.
#[derive(Debug)]
pub(crate) struct LoginRules {
    realm: String,
    cookie: String,
    states: String,
    origin: Option<String>,
    start: String,
    callback: String,
    logout: String,
    backchannel_logout: String,
    frontchannel_logout: String,
    authorization: LoginToken,
    unverified_email: bool,
}

/// What to do with a request that gate answers itself.
pub(crate) enum LoginAnswer {
    Now(LoginReply),
    /// The login service has to do something.
    Later(LoginRequest),
}

impl LoginRules {
    pub(crate) fn new(login: &Login) -> Self {
        Self {
            realm: login.realm(),
            cookie: login.cookie.clone(),
            states: state_cookies(&login.cookie),
            origin: login.origin.clone(),
            start: login.start.to_string(),
            callback: login.callback.to_string(),
            logout: login.logout.to_string(),
            backchannel_logout: login.backchannel_logout.to_string(),
            frontchannel_logout: login.frontchannel_logout.to_string(),
            authorization: login.authorization,
            unverified_email: login.unverified_email,
        }
    }

    /// See [`session_name`].
    pub(crate) fn session_name(&self, cookie: &[u8]) -> Option<String> {
        session_name(&self.realm, cookie)
    }

    /// The name of the cookie with a session.
    pub(crate) fn cookie(&self) -> &str {
        &self.cookie
    }

    /// Whether a `Set-Cookie` is for one of gate's own cookies. If a cookie's name is empty, some
    /// browsers take its value for a name.
    pub(crate) fn sets_own_cookie(&self, field: &Field<'_>) -> bool {
        if !field.name.eq_ignore_ascii_case("set-cookie") {
            return false;
        }
        let ends = |byte: &u8| matches!(byte, b'=' | b';');
        let mut parts = field.value.split(ends).map(<[u8]>::trim_ascii);
        let name = parts.find(|part| !part.is_empty()).unwrap_or_default();
        name == self.cookie.as_bytes() || name.starts_with(self.states.as_bytes())
    }

    /// Whether the backend is told addresses that the provider has not verified.
    pub(crate) fn unverified_email(&self) -> bool {
        self.unverified_email
    }

    /// What the backend gets in `Authorization`.
    pub(crate) fn authorization(&self) -> LoginToken {
        self.authorization
    }

    /// Whether a target is one of gate's own paths. It is compared literally: any other spelling of
    /// the path goes to the backend, which has no such path.
    pub(crate) fn own(&self, target: &str) -> bool {
        let (path, _) = split(target);
        [
            &self.start,
            &self.callback,
            &self.logout,
            &self.backchannel_logout,
            &self.frontchannel_logout,
        ]
        .iter()
        .any(|own| *own == path)
    }

    /// Answers a request for one of gate's own paths.
    pub(crate) fn answer(
        &self,
        request: &Request<'_>,
        inspected: &Inspected<'_>,
        own: &OwnOrigin<'_>,
    ) -> LoginAnswer {
        let (path, query) = split(inspected.path);
        let is_get = matches!(request.method, "GET" | "HEAD");
        let later = |order| later(order, request, inspected);
        let page = |page| LoginAnswer::Now(LoginReply::page(200, Reason::LoggedOut, page));
        if path == self.start && is_get {
            if query == DONE {
                let reply = LoginReply::page(200, Reason::LoggedIn, LoginPage::LoggedIn);
                return LoginAnswer::Now(reply);
            }
            let mut parameters = parse(query.as_bytes());
            let said = parameters.find(|(name, _)| name == "return");
            let said = said.map_or(Cow::Borrowed("/"), |(_, path)| path);
            later(self.begin(request, own, ReturnPath::new(&said)))
        } else if path == self.callback && request.method == "GET" {
            let states = cookies_with(request.fields, self.states.as_bytes());
            let text = |(_, value): (_, &[u8])| String::from_utf8_lossy(value).into_owned();
            later(LoginOrder::Callback {
                query: query.to_owned(),
                states: states.map(text).collect(),
                session: self.session(request),
            })
        } else if path == self.logout && is_get {
            // Another site can make a browser GET this.
            let path = self.logout.clone();
            let page = LoginPage::LogOut { path };
            LoginAnswer::Now(LoginReply::page(200, Reason::LoggedIn, page))
        } else if path == self.logout && request.method == "POST" {
            if !self.is_of_own_page(request, own) {
                return LoginAnswer::Now(LoginReply::new(403, Reason::Origin));
            }
            let session = self.session(request);
            if session.is_none() {
                return page(LoginPage::LoggedOut);
            }
            later(LoginOrder::LogOut { session })
        } else if path == self.backchannel_logout && request.method == "POST" {
            later(LoginOrder::ProviderLogout)
        } else if path == self.frontchannel_logout && request.method == "GET" {
            let query = query.to_owned();
            later(LoginOrder::FrameLogout { query })
        } else {
            LoginAnswer::Now(LoginReply::new(405, Reason::Method))
        }
    }

    /// Answers a request that has no session, on a route where people may log in; `None` if it gets
    /// 401 as usual.
    pub(crate) fn turn_away(
        &self,
        request: &Request<'_>,
        inspected: &Inspected<'_>,
        own: &OwnOrigin<'_>,
        reason: Reason,
    ) -> Option<LoginAnswer> {
        if !is_page(request, inspected) {
            return None;
        }
        if matches!(request.method, "GET" | "HEAD") && inspected.body == Body::None {
            let order = self.begin(request, own, ReturnPath::new(inspected.path));
            return Some(later(order, request, inspected));
        }
        let path = format!("{}?return={}%3F{DONE}", self.start, self.start);
        let page = LoginPage::LogInElsewhere { path };
        Some(LoginAnswer::Now(LoginReply::page(401, reason, page)))
    }

    fn begin(
        &self,
        request: &Request<'_>,
        own: &OwnOrigin<'_>,
        return_to: ReturnPath,
    ) -> LoginOrder {
        // Returning to the callback would fail.
        let is_callback = split(return_to.as_str()).0 == self.callback;
        LoginOrder::Begin {
            origin: own.written(),
            return_to: if is_callback {
                ReturnPath::new("/")
            } else {
                return_to
            },
            surplus: self.surplus(request),
        }
    }

    /// The cookies of the oldest logins in progress, if there are too many: browsers send the
    /// oldest ones first (RFC 6265 §5.4).
    fn surplus(&self, request: &Request<'_>) -> Vec<String> {
        let is_safe = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_".contains(byte);
        let states = || cookies_with(request.fields, self.states.as_bytes());
        let surplus = (states().count() + 1).saturating_sub(MAX_STATES);
        let names = states().take(surplus).map(|(name, _)| name);
        names
            .filter(|name| name.iter().all(is_safe))
            .map(|name| format!("{}{}", self.states, String::from_utf8_lossy(name)))
            .collect()
    }

    fn session(&self, request: &Request<'_>) -> Option<String> {
        let value = cookie(request.fields, self.cookie.as_bytes())?;
        String::from_utf8(value.to_vec()).ok()
    }

    /// Whether a page of this origin sends the request, or a program that is not a browser.
    /// Browsers do not send the cookie with a POST from another site, but sibling hosts are the
    /// same site.
    fn is_of_own_page(&self, request: &Request<'_>, own: &OwnOrigin<'_>) -> bool {
        if let Some(site) = request.values("sec-fetch-site").next() {
            return site == b"same-origin" || site == b"none";
        }
        let is_configured =
            |origin: &[u8]| self.origin.as_ref().is_some_and(|o| o.as_bytes() == origin);
        request
            .values("origin")
            .next()
            .is_none_or(|origin| is_configured(origin) || own.is(origin))
    }
}

fn later(order: LoginOrder, request: &Request<'_>, inspected: &Inspected<'_>) -> LoginAnswer {
    LoginAnswer::Later(LoginRequest {
        order,
        client: None,
        body: inspected.body,
        stays: inspected.keep_alive,
        frames: request.version.frames(),
    })
}

/// Whether a user is waiting for a page: the browser says so, or the request prefers one.
fn is_page(request: &Request<'_>, inspected: &Inspected<'_>) -> bool {
    if inspected.upgrade.is_some() || request.protocol.is_some() {
        return false;
    }
    match request.values("sec-fetch-mode").next() {
        Some(mode) => mode == b"navigate",
        None => prefers_page(request),
    }
}

/// The prefix of the names of the cookies that remember logins in progress.
pub(crate) fn state_cookies(session_cookie: &str) -> String {
    format!("{session_cookie}-login-")
}

/// The path and the query.
fn split(target: &str) -> (&str, &str) {
    target.split_once('?').unwrap_or((target, ""))
}

#[cfg(test)]
mod tests;
