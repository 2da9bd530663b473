//! The requests that gate answers itself for logins.

use std::net::IpAddr;

use super::ReturnPath;
use crate::judge::request::Body;

/// The largest body of a form, in bytes. A logout token is a few KiB long.
pub(crate) const MAX_FORM: u64 = 64 * 1024;

/// A request for one of gate's own paths, or one that leads to a login.
pub(crate) struct LoginRequest {
    pub(crate) order: LoginOrder,
    /// The client for whose share the request counts; `None` if a trusted proxy does not name its
    /// client.
    pub(crate) client: Option<IpAddr>,
    /// The request's body, which is read if the order takes one.
    pub(crate) body: Body,
    /// Whether the connection may continue after the body was read, or if there is no body.
    pub(crate) stays: bool,
    /// Whether the protocol itself says where a body ends.
    pub(crate) frames: bool,
}

pub(crate) enum LoginOrder {
    /// Sends the browser to the provider.
    Begin {
        /// Scheme, host and port, as the browser sees them.
        origin: String,
        return_to: ReturnPath,
        /// Cookies that the browser should remove.
        surplus: Vec<String>,
    },
    /// The browser comes back from the provider.
    Callback {
        query: String,
        /// The sealed states that the browser has.
        states: Vec<String>,
        /// The cookie of the session until now.
        session: Option<String>,
    },
    LogOut {
        session: Option<String>,
    },
    /// The provider reports that a user was logged out. The body has the token.
    ProviderLogout,
    /// A frame in the provider's page reports a logout. The query has the session.
    FrameLogout {
        query: String,
    },
}

impl LoginOrder {
    pub(crate) fn takes_body(&self) -> bool {
        matches!(self, Self::ProviderLogout)
    }
}

impl LoginRequest {
    pub(crate) fn takes_body(&self) -> bool {
        self.order.takes_body() && self.body != Body::None
    }

    /// Whether the connection may continue after the answer.
    pub(crate) fn stays(&self) -> bool {
        self.stays_unread() || (self.stays && self.takes_body())
    }

    /// Whether the connection may continue after an answer that is given before the body is read.
    pub(crate) fn stays_unread(&self) -> bool {
        self.stays && (self.frames || self.body == Body::None)
    }
}
