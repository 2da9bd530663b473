//! Who may pass: token → claims → session → the `Authorization` value. A request whose token was seen before and whose
//! session is known is judged at once, without I/O and without allocating; else the store is to be asked (a `Question`),
//! and what it says is admitted.
//!
//! Each thread has a guard of its own over [`Rules`] that all share. Keys that change make new rules, and new rules a new
//! guard: what was verified with old keys is forgotten with the old one. Left to others: reading heads, asking the store,
//! and sending what is denied.

mod clock;
mod jwks;
mod keys;
mod rules;
mod session;
mod shelf;
mod token;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use roundtrip_wire::jwt::{Claims, Jws, undress};

use crate::GateError;
use crate::credentials::{Unusable, authorization};
use crate::request::Request;
pub use clock::{SystemWall, Wall};
pub use keys::Keys;
pub use rules::{CookieForm, Rules};
pub use session::{Found, Session, Sessions, Standing, Trouble, Watch};
use shelf::Shelf;
use token::Worn;

/// Judges the requests of one thread.
pub struct Guard {
    rules: Arc<Rules>,
    wall: Box<dyn Wall>,
    /// Tokens whose signature was found good.
    tokens: Option<RefCell<Shelf<Verified>>>,
    sessions: RefCell<Shelf<Rc<Session>>>,
}

struct Verified {
    session: Box<str>,
    expires: i64,
    not_before: i64,
}

/// What becomes of a request.
pub(crate) enum Judged {
    Pass(Rc<Session>),
    /// The token is good; whose session it is has to be asked.
    Ask(Question),
    Deny(Denial),
}

/// Asked of the store. No `Debug`: a session's name is not for logs.
pub(crate) struct Question {
    session: Box<str>,
}

impl Question {
    pub(crate) fn session(&self) -> &str {
        &self.session
    }
}

/// Why a request does not pass. It names nobody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Denial {
    #[error("no token")]
    NoToken,
    #[error("a token that is malformed, or that none of the keys has signed")]
    BadToken,
    #[error("a token that has expired")]
    Expired,
    #[error("a token that is not valid yet")]
    TooEarly,
    #[error("a session that the store does not know")]
    UnknownSession,
    #[error("{0}")]
    Credentials(Unusable),
    #[error("{0}")]
    Store(Trouble),
}

impl Denial {
    /// As hyper-auth-proxy answers; but that it takes expired tokens, and says 500 where its store is down.
    pub(crate) fn status(self) -> u16 {
        match self {
            Self::Store(Trouble::Down) => 503,
            Self::Credentials(_) | Self::Store(Trouble::Unreadable) => 500,
            _ => 401,
        }
    }
}

impl Guard {
    pub fn new(rules: Arc<Rules>, wall: Box<dyn Wall>) -> Result<Self, GateError> {
        let tokens = match rules.tokens {
            0 => None,
            most => Some(RefCell::new(Shelf::new(most, seed()?))),
        };
        Ok(Self {
            tokens,
            sessions: RefCell::new(Shelf::new(rules.sessions.max(1), seed()?)),
            rules,
            wall,
        })
    }

    pub(crate) fn judge(&self, request: &Request<'_>) -> Judged {
        let Some(worn) = token::find(request.fields, &self.rules) else {
            return Judged::Deny(Denial::NoToken);
        };
        let now = self.wall.seconds();
        if let Some(tokens) = &self.tokens
            && let Some(verified) = tokens.borrow_mut().get(worn.bytes())
        {
            return self.decide(verified, now);
        }
        let verified = match self.verify(worn) {
            Ok(verified) => verified,
            Err(denial) => return Judged::Deny(denial),
        };
        let judged = self.decide(&verified, now);
        if let Some(tokens) = &self.tokens
            && !matches!(judged, Judged::Deny(_))
        {
            tokens.borrow_mut().put(worn.bytes(), verified);
        }
        judged
    }

    /// Times count on each request, however often the token was seen before.
    fn decide(&self, verified: &Verified, now: i64) -> Judged {
        let leeway = self.rules.leeway_seconds();
        // RFC 7519 §4.1.4: «on or after» is too late.
        if now >= verified.expires.saturating_add(leeway) {
            return Judged::Deny(Denial::Expired);
        }
        if now.saturating_add(leeway) < verified.not_before {
            return Judged::Deny(Denial::TooEarly);
        }
        match self.known(&verified.session, now) {
            Some(session) => Judged::Pass(session),
            None => Judged::Ask(Question {
                session: verified.session.clone(),
            }),
        }
    }

    fn known(&self, name: &str, now: i64) -> Option<Rc<Session>> {
        let mut sessions = self.sessions.borrow_mut();
        let session = sessions.get(name.as_bytes())?;
        if session.holds(now) {
            return Some(session.clone());
        }
        // Its password has no business in memory any more.
        sessions.remove(name.as_bytes());
        None
    }

    fn verify(&self, worn: Worn<'_>) -> Result<Verified, Denial> {
        let bare;
        let token = match (worn, self.rules.cookie_form) {
            (Worn::Cookie(value), CookieForm::Base64) => {
                bare = undress(value).map_err(|_| Denial::BadToken)?;
                bare.as_slice()
            }
            (Worn::Cookie(value) | Worn::Bearer(value), _) => value,
        };
        let claims = self.claims(token).ok_or(Denial::BadToken)?;
        Ok(Verified {
            session: claims.session.into_boxed_str(),
            expires: claims.expires,
            not_before: claims.not_before.unwrap_or(i64::MIN),
        })
    }

    /// Claims are read once the signature was found good, not before.
    fn claims(&self, token: &[u8]) -> Option<Claims> {
        let jws = Jws::parse(token).ok()?;
        let good = self.rules.keys.verify(&jws);
        good.then(|| jws.claims().ok()).flatten()
    }

    /// What the store said of the session that was asked for. The value for `Authorization` is made here, once.
    pub(crate) fn admit(
        &self,
        question: &Question,
        answer: Result<Option<Found>, Trouble>,
    ) -> Result<Rc<Session>, Denial> {
        let found = answer
            .map_err(Denial::Store)?
            .ok_or(Denial::UnknownSession)?;
        let now = self.wall.seconds();
        if found
            .expires
            .is_some_and(|expires| clock::seconds(expires) <= now)
        {
            return Err(Denial::UnknownSession);
        }
        let login = self
            .rules
            .vault
            .open(question.session(), &found.credentials);
        let login = login.map_err(Denial::Credentials)?;
        let session = Session::new(question.session.clone(), authorization(&login), found, now);
        let session = Rc::new(session);
        let mut sessions = self.sessions.borrow_mut();
        sessions.put(question.session().as_bytes(), session.clone());
        Ok(session)
    }

    pub(crate) fn holds(&self, session: &Session) -> bool {
        session.holds(self.wall.seconds())
    }
}

/// What the shelves' hash is keyed with.
fn seed() -> Result<[u64; 2], GateError> {
    let mut bytes = [[0; 8]; 2];
    aws_lc_rs::rand::fill(bytes.as_flattened_mut()).map_err(|_| GateError::Cryptography)?;
    Ok(bytes.map(u64::from_ne_bytes))
}

#[cfg(test)]
mod tests;
