//! What gate answers about logins: a redirection, cookies, or a small page.

use crate::record::Reason;

/// The answer as data that can be sent between threads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LoginReply {
    pub(crate) status: u16,
    pub(crate) reason: Reason,
    pub(crate) location: Option<String>,
    /// Values of `Set-Cookie`.
    pub(crate) cookies: Vec<String>,
    pub(crate) page: LoginPage,
}

/// The body. Paths in it come from the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LoginPage {
    /// Gate's usual page for the status and the reason.
    Usual,
    /// A button that logs out.
    LogOut {
        path: String,
    },
    /// A form was sent without a session: its sender may log in elsewhere, and send it again.
    LogInElsewhere {
        path: String,
    },
    LoggedIn,
    LoggedOut,
    /// An empty page for a frame in a page of these origins.
    LoggedOutInFrame {
        origins: String,
    },
    /// The answer to a CA that validates a name (RFC 8555 §8.3), which is not a page.
    Challenge {
        answer: String,
    },
}

impl LoginReply {
    pub(crate) fn new(status: u16, reason: Reason) -> Self {
        Self {
            status,
            reason,
            location: None,
            cookies: Vec::new(),
            page: LoginPage::Usual,
        }
    }

    pub(crate) fn page(status: u16, reason: Reason, page: LoginPage) -> Self {
        Self {
            page,
            ..Self::new(status, reason)
        }
    }

    /// 302 for GET; 303 turns a POST into a GET. RFC 9110 §15.4.
    pub(crate) fn redirect(status: u16, reason: Reason, location: String) -> Self {
        Self {
            location: Some(location),
            ..Self::new(status, reason)
        }
    }
}

/// Makes a cookie for every path of this host only. The browser sends it when a link on another
/// site leads here, but not with any other request from another site.
pub(crate) fn set_cookie(name: &str, value: &str, seconds: i64) -> String {
    format!("{name}={value}; Path=/; Max-Age={seconds}; Secure; HttpOnly; SameSite=Lax")
}

pub(crate) fn remove_cookie(name: &str) -> String {
    set_cookie(name, "", 0)
}
