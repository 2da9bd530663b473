//! A token's claims about a session. RFC 7519 §4.1. Other claims are ignored.

use std::fmt;

use super::bad;
use super::object::JsonObject;
use crate::Result;

const MAX_SUBJECT_LENGTH: usize = 1024;
/// The longest session name that stores accept, in bytes.
const MAX_SESSION_LENGTH: usize = 512;

/// Times are whole seconds since 1970.
#[derive(Clone, PartialEq, Eq)]
pub struct Claims {
    pub subject: String,
    /// `sid`: the name of the session in the store.
    pub session: String,
    pub issued: i64,
    pub expires: i64,
    pub not_before: Option<i64>,
    pub issuer: Option<String>,
    /// The audiences; empty if the token names none.
    pub audience: Vec<String>,
}

impl Claims {
    pub fn parse(json: &[u8]) -> Result<Self> {
        let claims = JsonObject::parse(json)?;
        let subject = claims.text("sub")?.ok_or(bad("it has no sub"))?;
        let session = claims.text("sid")?.ok_or(bad("it has no sid"))?;
        if subject.len() > MAX_SUBJECT_LENGTH {
            return Err(bad("its sub is too long"));
        }
        if session.is_empty()
            || session.len() > MAX_SESSION_LENGTH
            || session.chars().any(char::is_control)
        {
            return Err(bad("its sid is empty, too long, or has control characters"));
        }
        Ok(Self {
            subject: subject.to_owned(),
            session: session.to_owned(),
            issued: claims.whole("iat")?.ok_or(bad("it has no iat"))?,
            expires: claims.whole("exp")?.ok_or(bad("it has no exp"))?,
            not_before: claims.whole("nbf")?,
            issuer: claims.text("iss")?.map(str::to_owned),
            audience: claims
                .texts("aud")?
                .into_iter()
                .map(str::to_owned)
                .collect(),
        })
    }
}

/// Hides everything that identifies the session: the sid is half of what is needed to reach it.
impl fmt::Debug for Claims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Claims")
            .field("expires", &self.expires)
            .finish_non_exhaustive()
    }
}
