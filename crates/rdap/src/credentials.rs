//! Credentials: Basic and Digest (RFC 7481 §3.1, RFC 7617, RFC 7616), each for one origin only.
//!
//! [`Credentials`] contain a user and a password for one origin. For a URL at that origin they
//! return the value to send, and for any other origin nothing, so that code that follows links and
//! redirects cannot leak a password by mistake. The same applies to other bound values ([`Bound`]),
//! such as the client certificate for TLS.
//!
//! Nothing is sent until the server has asked for it, unless [`Credentials::eager`] requests Basic
//! at once. So:
//!
//! 1. Call [`Credentials::header`] before each request; it returns the value of `Authorization`, if
//!    any.
//! 2. Call [`Credentials::hear`] after each 401, with its `WWW-Authenticate` lines and the value
//!    that was sent; it returns whether to repeat the request. A server could call every nonce
//!    stale, so repeat it at most twice.
//!
//! Digest is preferred to Basic if both are offered. It is supported with SHA-256 and SHA-512/256
//! and `qop=auth`, their `-sess` forms, hashed user names, stale nonces, and nonces that
//! `Authentication-Info` announces. MD5 is not supported, because the only cryptographic library of
//! this program does not have it; nor is `auth-int`, which protects request bodies, and a lookup
//! has none. Basic over plain http is refused unless it is [allowed](Credentials::allow_plain),
//! because anyone on the path could read it.
//!
//! A password is a [`Secret`]: `{}` and `{:?}` never show it, and its memory is cleared when it is
//! dropped. It comes from a file that only the user can read, from the environment, or from a URL.
//! No message repeats it.
//!
//! The caller repeats requests; the pool's settings contain the client certificate.

mod bound;
mod challenge;
mod digest;
mod error;
mod userinfo;

use std::fmt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use roundtrip_model::{Scheme, Target};

pub use bound::Bound;
pub use error::CredentialsError;

use challenge::Challenge;
use digest::Session;

/// Text that is not shown, and is cleared from memory when it is dropped.
pub type Secret = roundtrip_tls::Secret<String>;

/// A user and a password that only one origin may learn.
pub struct Credentials {
    login: Bound<Login>,
    allows_plain: bool,
    state: Mutex<State>,
    random: Box<Draw>,
}

/// Fills the bytes with random data and returns whether it could.
type Draw = dyn Fn(&mut [u8]) -> bool + Send + Sync;

struct Login {
    user: Secret,
    password: Secret,
}

/// The scheme that the server's last challenge asked for.
enum State {
    Unasked,
    Basic,
    Digest(Session),
}

const MAX_LOGIN: usize = 4096;

impl Credentials {
    /// Credentials for the origin of `target`. RFC 7617 §2: no colon in a user, no control
    /// characters anywhere.
    pub fn new(target: &Target, user: Secret, password: Secret) -> Result<Self, CredentialsError> {
        let has_controls = |secret: &Secret| secret.expose().chars().any(char::is_control);
        if has_controls(&user) || has_controls(&password) {
            return Err(CredentialsError::Controls);
        }
        if user.expose().contains(':') {
            return Err(CredentialsError::Colon);
        }
        Ok(Self {
            login: Bound::new(target, Login { user, password }),
            allows_plain: false,
            state: Mutex::new(State::Unasked),
            random: Box::new(|bytes| aws_lc_rs::rand::fill(bytes).is_ok()),
        })
    }

    /// Reads credentials from `user:password`.
    pub fn from_text(target: &Target, text: &Secret) -> Result<Self, CredentialsError> {
        let text = text.expose();
        if text.len() > MAX_LOGIN {
            let limit = MAX_LOGIN;
            return Err(CredentialsError::TooLong { limit });
        }
        let (user, password) = text.split_once(':').ok_or(CredentialsError::NoColon)?;
        Self::new(target, Secret::from(user), Secret::from(password))
    }

    /// Reads credentials from the first line of a file that only the user can read.
    pub fn from_file(target: &Target, path: &Path) -> Result<Self, CredentialsError> {
        let secret = roundtrip_tls::Secret::from_file(path)?;
        let bytes = secret.expose();
        let line = bytes.split(|b| *b == b'\n').next().unwrap_or_default();
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let line = std::str::from_utf8(line).map_err(|_| CredentialsError::NoColon)?;
        Self::from_text(target, &Secret::from(line))
    }

    /// Reads credentials from an environment variable.
    pub fn from_environment(target: &Target, variable: &str) -> Result<Self, CredentialsError> {
        let value = roundtrip_tls::Secret::from_env(variable)?;
        let text = std::str::from_utf8(value.expose()).map_err(|_| CredentialsError::NoColon)?;
        Self::from_text(target, &Secret::from(text))
    }

    /// The user and password of a URL of the form `https://user:password@host/`, for its origin.
    pub fn from_url(target: &Target) -> Result<Option<Self>, CredentialsError> {
        let Some((user, password)) = target.userinfo() else {
            return Ok(None);
        };
        let decoded =
            |text: &str| userinfo::percent_decoded(text).ok_or(CredentialsError::Encoding);
        Self::new(target, decoded(user)?, decoded(password)?).map(Some)
    }

    /// Sends Basic with the first request, which saves the round trip in which the server asks for
    /// it.
    #[must_use]
    pub fn eager(self) -> Self {
        *self.state() = State::Basic;
        self
    }

    /// Permits Basic over plain http, for servers on this machine.
    #[must_use]
    pub fn allow_plain(mut self) -> Self {
        self.allows_plain = true;
        self
    }

    /// Takes nonces from `random`, which fills bytes and returns whether it could; for tests.
    #[must_use]
    #[cfg(test)]
    pub fn with_random(
        mut self,
        random: impl Fn(&mut [u8]) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.random = Box::new(random);
        self
    }

    /// Whether `target` is at the origin of these credentials.
    pub fn are_for(&self, target: &Target) -> bool {
        self.login.of(target).is_some()
    }

    /// The value of `Authorization` for a request to `target`; `None` for other origins, and before
    /// the server has asked.
    pub fn header(
        &self,
        target: &Target,
        method: &str,
    ) -> Result<Option<Secret>, CredentialsError> {
        let Some(login) = self.login.of(target) else {
            return Ok(None);
        };
        match &mut *self.state() {
            State::Unasked => Ok(None),
            State::Basic => {
                self.check_plain(target)?;
                Ok(Some(basic(login)))
            }
            State::Digest(session) => {
                let user = login.user.expose();
                let password = login.password.expose();
                let uri = target.path_and_query();
                Ok(Some(session.answer(user, password, method, uri)))
            }
        }
    }

    /// Processes the `WWW-Authenticate` lines of a 401, and the `Authorization` that was sent.
    /// Returns whether to repeat the request.
    pub fn hear<'a>(
        &self,
        target: &Target,
        lines: impl IntoIterator<Item = &'a [u8]>,
        sent: Option<&Secret>,
    ) -> Result<bool, CredentialsError> {
        if self.login.of(target).is_none() {
            return Ok(false);
        }
        let challenges = challenge::read(lines);
        let sent = sent.map(Secret::expose);
        let mut state = self.state();
        if let State::Digest(session) = &*state
            && !sent.is_some_and(|sent| session.is_answered_by(sent))
        {
            return Ok(true); // sent without one, or with an older nonce: there is a newer one by now
        }
        let is_refused = sent.is_some_and(|sent| sent.starts_with("Basic "));
        *state = self.choose(target, &challenges, sent.is_some(), is_refused)?;
        Ok(true)
    }

    /// Processes `Authentication-Info`, which can name the nonce to use from now on. RFC 7616 §3.5.
    pub fn inform(&self, target: &Target, line: &[u8]) {
        if self.login.of(target).is_none() {
            return;
        }
        if let State::Digest(session) = &mut *self.state()
            && let Some(nonce) = challenge::next_nonce(line)
            && let Some(cnonce) = self.cnonce()
        {
            session.go_on_with(nonce, cnonce);
        }
    }

    fn choose(
        &self,
        target: &Target,
        challenges: &[Challenge],
        answered: bool,
        basic_refused: bool,
    ) -> Result<State, CredentialsError> {
        let mut reasons = Vec::new();
        for challenge in challenges {
            match digest::Offer::from_challenge(challenge) {
                None => {}
                Some(Err(reason)) => reasons.push(reason),
                Some(Ok(offer)) if answered && !basic_refused && !offer.is_stale() => {
                    return Err(self.refused());
                }
                Some(Ok(offer)) => {
                    let cnonce = self.cnonce().ok_or(CredentialsError::NoRandom)?;
                    return Ok(State::Digest(Session::new(offer, cnonce)));
                }
            }
        }
        if challenges.iter().any(|c| c.is_scheme("Basic")) {
            if answered {
                return Err(self.refused());
            }
            self.check_plain(target)?;
            return Ok(State::Basic);
        }
        Err(CredentialsError::Unsupported {
            origin: self.login.url(),
            offered: challenge::schemes(challenges),
            reasons: reasons.join("; "),
        })
    }

    fn refused(&self) -> CredentialsError {
        CredentialsError::Refused {
            origin: self.login.url(),
        }
    }

    fn check_plain(&self, target: &Target) -> Result<(), CredentialsError> {
        if target.scheme == Scheme::Https || self.allows_plain {
            return Ok(());
        }
        Err(CredentialsError::Plain {
            origin: self.login.url(),
        })
    }

    fn cnonce(&self) -> Option<String> {
        let mut bytes = [0; 33];
        (self.random)(&mut bytes).then(|| STANDARD.encode(bytes))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The value for Basic (RFC 7617 §2).
fn basic(login: &Login) -> Secret {
    let (user, password) = (login.user.expose(), login.password.expose());
    let pair = zeroize::Zeroizing::new(format!("{user}:{password}"));
    let encoded = zeroize::Zeroizing::new(STANDARD.encode(pair.as_bytes()));
    Secret::from(format!("Basic {}", *encoded))
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Credentials for {}", self.login.url())
    }
}

#[cfg(test)]
mod tests;
