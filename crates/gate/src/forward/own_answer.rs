//! Gate's own answers: the status, the reason in a sentence and in a word, and the request's ID;
//! for people as text or a small page, for programs as RFC 9457. They contain no token, name, path
//! or query.

use super::exchange::Sink;
use super::login_answer;
use super::proxy_reply;
use crate::forward::h1::{Response, ResponseBody};
use crate::judge::request::{self, Field};
use crate::judge::{LoginPage, OwnAnswer};
use crate::record::{Caller, ErrorFormat};
use crate::record::{LabelValue, Reason};

/// RFC 6750 §3.1: an error code only if there was a token.
const NO_TOKEN: &str = "Bearer realm=\"gate\"";

impl OwnAnswer {
    pub(crate) fn tell(mut self, caller: &Caller, to: &mut impl Sink) {
        if let Some(reply) = self.reply.take() {
            return proxy_reply::tell(&self, &reply, caller, to);
        }
        match &self.login {
            // A reply with neither a location nor a special page is written like any other answer.
            Some(reply) if reply.location.is_some() || reply.page != LoginPage::Usual => {
                login_answer::tell(reply, &self.challenge(), caller, to);
            }
            _ => self.write(caller, to),
        }
    }

    pub(super) fn write(&self, caller: &Caller, to: &mut impl Sink) {
        let body = self.body(caller);
        let length = body.len().to_string();
        let (retry_after, challenge) = (self.retry_after.to_string(), self.challenge());
        let field = |name, value| Field { name, value };
        let more = match self.status {
            // RFC 9110 §11.6.1 requires a challenge.
            401 => Some(field("WWW-Authenticate", challenge.as_bytes())),
            405 => Some(field(
                "Allow",
                b"GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS",
            )),
            429 | 503 => Some(field("Retry-After", retry_after.as_bytes())),
            _ => None,
        };
        let usual = [
            field("Content-Type", kind(caller.form).as_bytes()),
            field("Content-Length", length.as_bytes()),
            field("Cache-Control", b"no-store"),
            field("X-Content-Type-Options", b"nosniff"),
            field("Vary", b"Accept"),
        ];
        // A backend's own ID would not pass, so ours is added.
        let id = field(request::ID, caller.id.as_bytes());
        let beside = [id, more.unwrap_or(id)];
        let count = if more.is_some() { 2 } else { 1 };
        let beside = beside.get(..count).unwrap_or_default();
        let grant = self.grant.iter().flat_map(|grant| grant.fields());
        let cookies = self.login.iter().flat_map(|reply| &reply.cookies);
        let cookies = cookies.map(|cookie| field("Set-Cookie", cookie.as_bytes()));
        let beside = beside.iter().copied().chain(grant).chain(cookies);
        let beside: Vec<Field<'_>> = beside.collect();
        let bodiless = self.status == 204;
        let usual = usual.as_slice();
        let fields = if bodiless { &[] } else { usual };
        let response = Response::new(self.status, title(self.status), fields);
        to.head(&response, ResponseBody::None, &beside);
        if !(caller.is_head || bodiless) {
            to.push(body.as_bytes());
        }
    }

    fn body(&self, caller: &Caller) -> String {
        let (status, title, why) = (self.status, title(self.status), sentence(self.reason));
        let (word, id) = (self.reason.as_str(), caller.id.as_str());
        match caller.form {
            ErrorFormat::Text => {
                format!("{status} {title}: {why}.\nReason: {word}\nRequest: {id}\n")
            }
            ErrorFormat::Html => format!(
                "<!DOCTYPE html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"color-scheme\" content=\"light dark\">\
                 <meta name=\"viewport\" content=\"width=device-width\"><title>{status} {title}</title>\
                 <h1>{title}</h1><p>{why}.</p><p><small>Status {status} · reason {word} · request <code>{id}</code></small></p></html>\n"
            ),
            // No character in this text needs escaping in JSON.
            ErrorFormat::Problem => format!(
                "{{\"type\":\"about:blank\",\"title\":\"{title}\",\"status\":{status},\"detail\":\"{why}.\",\
                 \"reason\":\"{word}\",\"request_id\":\"{id}\"}}\n"
            ),
        }
    }

    fn challenge(&self) -> String {
        match self.reason {
            Reason::NoToken => NO_TOKEN.to_owned(),
            reason => {
                let why = sentence(reason);
                format!("{NO_TOKEN}, error=\"invalid_token\", error_description=\"{why}\"")
            }
        }
    }
}

fn kind(form: ErrorFormat) -> &'static str {
    match form {
        ErrorFormat::Text => "text/plain; charset=utf-8",
        ErrorFormat::Html => "text/html; charset=utf-8",
        ErrorFormat::Problem => "application/problem+json",
    }
}

/// The reason for people. It is also used in a quoted string, so it has no quotes, no backslash,
/// and only ASCII (RFC 6750 §3).
fn sentence(reason: Reason) -> &'static str {
    match reason {
        Reason::NotHttp => "The request is not HTTP",
        Reason::BareLineFeed => "A line of the request ends without CR",
        Reason::Malformed => "The request line or a field is malformed",
        Reason::TooManyFields => "The request has too many fields",
        Reason::HeadTooLarge => "The request's head is too large",
        Reason::Host => "The request names no host, or more than one",
        Reason::HostDiffers => "The request's Host differs from its authority",
        Reason::HostNumber => {
            "The request's host is an IPv4 address that is not written as four decimals"
        }
        Reason::Target => "The request's target is neither a path nor a URL of this scheme",
        Reason::DotSegments => "The request's path has . or .. in it",
        Reason::TwoWays => "Servers may assign the request's path to different routes",
        Reason::Characters => "The request's path has control characters, or is not UTF-8",
        Reason::Method => "This method is not passed on",
        Reason::TwoLengths => "The request has both Content-Length and Transfer-Encoding",
        Reason::Length => "The request's Content-Length is not a number, or there are two",
        Reason::Coding => "The request's transfer coding is not supported",
        Reason::ConnectionField => "A field of the request is not allowed in this protocol",
        Reason::Expectation => "The request has an unsupported expectation",
        Reason::BodyTooLarge => "The request's body is too large",
        Reason::Chunk => "A chunk of the request's body is malformed",
        Reason::Protocol => "This protocol is not supported over a stream",
        Reason::NoRoute => "Nothing is served at this host and path",
        Reason::Upgrade => "This upgrade is not passed on",
        Reason::BufferFull => "Too much is being uploaded at the moment",
        Reason::TooMany => "Too many requests of this client or session are in progress",
        Reason::Slow => "The request did not arrive in time",
        Reason::NoToken => "A token is required, but the request has none",
        Reason::BadToken => "The token is malformed, or its signature is not valid",
        Reason::Expired => "The token has expired",
        Reason::TooEarly => "The token is not valid yet",
        Reason::NotForUs => "The token has another issuer or audience",
        Reason::UnknownSession => "The session has ended, or was revoked",
        Reason::Credentials => "The session's stored credentials cannot be used",
        Reason::StoreDown => "The session cannot be looked up at the moment",
        Reason::StoreUnreadable => "The session's record cannot be read",
        Reason::NoKeys => "The token cannot be verified at the moment",
        Reason::Origin => "Pages of this origin may not do this",
        Reason::Claims => "This person may not use this",
        Reason::LoginFailed => {
            "The login or logout cannot be completed: begin again at the page that you wanted"
        }
        Reason::LoginDenied => "The login provider denied the login",
        Reason::LoginDown => "Logging in is not possible at the moment",
        Reason::NoServer => "No server is available at the moment",
        Reason::PoolFull => "All servers are busy at the moment",
        Reason::BackendRefused => "The server accepts no request at the moment",
        Reason::Unreachable => "The server cannot be reached",
        Reason::BackendClosed => "The server closed the connection without an answer",
        Reason::BackendSlow => "The server did not answer in time",
        Reason::BadAnswer => "The server's answer is invalid",
        Reason::LogIn => "This page requires a login",
        Reason::LoggedIn => "You are logged in",
        Reason::LoggedOut => "The sessions have ended",
        Reason::AcmeChallenge => "A certificate authority validates the name",
        Reason::Preflight => "The answer says what other origins may do",
        Reason::Asker => "This proxy may not ask about its clients' requests",
        Reason::Undescribed => "The proxy's description of the request is incomplete or ambiguous",
        Reason::IdentityField => "The request has a field that only a proxy may set",
        Reason::Allowed => "The request may pass",
    }
}

/// RFC 9110 §15.
pub(super) fn title(status: u16) -> &'static str {
    match status {
        200 => "OK",
        204 => "No Content",
        302 => "Found",
        303 => "See Other",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        413 => "Content Too Large",
        417 => "Expectation Failed",
        421 => "Misdirected Request",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "Internal Server Error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::RequestId;

    fn own_answer(reason: Reason) -> OwnAnswer {
        OwnAnswer {
            status: 401,
            stays: true,
            reason,
            retry_after: 1,
            grant: None,
            reply: None,
            login: None,
        }
    }

    fn caller(form: ErrorFormat) -> Caller {
        Caller {
            id: RequestId::new(),
            form,
            is_head: false,
        }
    }

    #[test]
    fn a_token_that_is_not_there_has_no_error_and_a_bad_one_has() {
        assert_eq!(
            own_answer(Reason::NoToken).challenge(),
            "Bearer realm=\"gate\""
        );
        for reason in [Reason::BadToken, Reason::Expired, Reason::UnknownSession] {
            let challenge = own_answer(reason).challenge();
            let (_, error) = challenge.split_once(", ").unwrap();
            assert!(error.starts_with("error=\"invalid_token\", error_description=\""));
        }
    }

    #[test]
    fn every_reason_can_stand_in_every_form() {
        for reason in Reason::ALL {
            let sentence = sentence(*reason);
            let sane = |b: u8| (b' '..=b'~').contains(&b) && !b"\"\\<>&".contains(&b);
            assert!(sentence.bytes().all(sane), "{sentence}");
            let caller = caller(ErrorFormat::Problem);
            let body = own_answer(*reason).body(&caller);
            let read: serde_json::Value = serde_json::from_str(&body).unwrap();
            assert_eq!(read["reason"], reason.as_str());
            assert_eq!(read["status"], 401);
            assert_eq!(read["request_id"], caller.id.as_str());
        }
    }

    #[test]
    fn people_are_told_in_words() {
        let caller = caller(ErrorFormat::Text);
        let expected = format!(
            "401 Unauthorized: The token has expired.\nReason: expired\nRequest: {}\n",
            caller.id.as_str()
        );
        assert_eq!(own_answer(Reason::Expired).body(&caller), expected);
    }
}
