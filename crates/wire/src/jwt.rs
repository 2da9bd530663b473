//! Tokens: a JWS in compact form (RFC 7515) whose payload is a set of claims (RFC 7519), and the
//! encoding that a cookie adds. Callers with keys and a clock check signatures and times: a parsed
//! [`Jws`] is not yet trusted.
//!
//! Anything that two parsers could understand differently is refused: repeated names, padding, and
//! bits after the end.

mod algorithm;
mod claims;
mod cookie;
mod object;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

pub use algorithm::Algorithm;
pub use claims::Claims;
pub use cookie::token_from_cookie;

use crate::{Error, Result};
use object::JsonObject;

/// The largest token in bytes, without a cookie's encoding.
pub const MAX_TOKEN: usize = 8 * 1024;
const MAX_KEY_ID_LENGTH: usize = 256;

/// The parts of a token. There is no `Debug`, because anyone who has a token can use it.
pub struct Jws<'a> {
    pub algorithm: Algorithm,
    /// The key that supposedly signed the token. RFC 7515 §4.1.4. Anyone can write anything here.
    pub key_id: Option<String>,
    /// The bytes that the signature covers. RFC 7515 §5.2.
    pub signed: &'a [u8],
    pub signature: Vec<u8>,
    payload: Vec<u8>,
}

impl<'a> Jws<'a> {
    /// Parses an access token, or a token that does not say what it is.
    pub fn parse(token: &'a [u8]) -> Result<Self> {
        Self::parse_typed(token, &["jwt", "at+jwt"])
    }

    /// Parses a token whose `typ`, if it has one, is among `types` (in lower case, without
    /// `application/`). RFC 8725 §3.11.
    pub fn parse_typed(token: &'a [u8], types: &[&str]) -> Result<Self> {
        if token.len() > MAX_TOKEN {
            return Err(Error::TooLarge {
                what: "the token",
                limit: MAX_TOKEN,
            });
        }
        // base64url has no dot, so a fourth part would not decode.
        let last = memchr::memrchr(b'.', token).ok_or(bad("it does not have three parts"))?;
        let (signed, signature) = (
            token.get(..last).unwrap_or_default(),
            token.get(last + 1..).unwrap_or_default(),
        );
        let first = memchr::memchr(b'.', signed).ok_or(bad("it does not have three parts"))?;
        let (header, payload) = (
            signed.get(..first).unwrap_or_default(),
            signed.get(first + 1..).unwrap_or_default(),
        );
        let (algorithm, key_id) = read_header(&decode(header)?, types)?;
        Ok(Self {
            algorithm,
            key_id,
            signed,
            signature: decode(signature)?,
            payload: decode(payload)?,
        })
    }

    /// The claims. Call this only after the signature has been verified.
    pub fn claims(&self) -> Result<Claims> {
        Claims::parse(&self.payload)
    }

    /// The payload, a JSON object. Call this only after the signature has been verified.
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }
}

fn read_header(json: &[u8], types: &[&str]) -> Result<(Algorithm, Option<String>)> {
    let header = JsonObject::parse(json)?;
    // No critical header parameter is understood. RFC 7515 §4.1.11.
    if header.has("crit") {
        return Err(bad("it requires extensions that are not understood (crit)"));
    }
    let named = header.text("alg")?.ok_or(bad("it names no algorithm"))?;
    let algorithm = Algorithm::named(named).ok_or(bad("its algorithm is not allowed"))?;
    // Tokens of other kinds from the same issuer are not meant for this use. RFC 8725 §3.11.
    if let Some(kind) = header.text("typ")? {
        let kind = kind.to_ascii_lowercase();
        let kind = kind.strip_prefix("application/").unwrap_or(&kind);
        if !types.contains(&kind) {
            return Err(bad("it has another type"));
        }
    }
    let key_id = header.text("kid")?;
    if key_id.is_some_and(|id| id.len() > MAX_KEY_ID_LENGTH) {
        return Err(bad("the name of its key is too long"));
    }
    Ok((algorithm, key_id.map(str::to_owned)))
}

fn decode(part: &[u8]) -> Result<Vec<u8>> {
    URL_SAFE_NO_PAD
        .decode(part)
        .map_err(|_| bad("a part is not base64url without padding"))
}

const fn bad(why: &'static str) -> Error {
    Error::malformed("the token", why)
}

#[cfg(test)]
mod tests;
