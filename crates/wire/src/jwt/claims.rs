//! What a token says of a session. RFC 7519 §4.1. Other claims may stand beside these and are not looked at.

use std::fmt;

use super::bad;
use super::object::Object;
use crate::Result;

const LONGEST_SUBJECT: usize = 1024;
/// As long as the stores' names may be.
const LONGEST_SESSION: usize = 512;

/// Times are whole seconds since 1970.
#[derive(Clone, PartialEq, Eq)]
pub struct Claims {
    pub subject: String,
    /// `sid`: which session is meant. It is what the store is asked for.
    pub session: String,
    pub issued: i64,
    pub expires: i64,
    pub not_before: Option<i64>,
    pub issuer: Option<String>,
    /// Whom it is for: nobody in particular, where it is empty.
    pub audience: Vec<String>,
}

impl Claims {
    pub fn parse(json: &[u8]) -> Result<Self> {
        let claims = Object::parse(json)?;
        let subject = claims.text("sub")?.ok_or(bad("it has no sub"))?;
        let session = claims.text("sid")?.ok_or(bad("it has no sid"))?;
        if subject.len() > LONGEST_SUBJECT {
            return Err(bad("its sub is too long"));
        }
        if session.is_empty()
            || session.len() > LONGEST_SESSION
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

/// Nothing of whose it is: who knows a sid knows half of what a session is reached by.
impl fmt::Debug for Claims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Claims")
            .field("expires", &self.expires)
            .finish_non_exhaustive()
    }
}
