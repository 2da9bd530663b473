//! Tokens: a JWS in compact form (RFC 7515) whose payload is a set of claims (RFC 7519), and the dress that a cookie puts
//! around it. Signatures and times are for who has keys and a clock: a [`Jws`] that was parsed is not yet believed.
//!
//! What two readers could understand differently is refused: names that occur twice, padding, bits after the end.

mod algorithm;
mod claims;
mod dress;
mod object;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

pub use algorithm::Algorithm;
pub use claims::Claims;
pub use dress::undress;

use crate::{Error, Result};
use object::Object;

/// A token, without its dress.
pub const LARGEST: usize = 8 * 1024;
const LONGEST_KEY_ID: usize = 256;

/// A token in its parts. It has no `Debug`: who has a token is its user.
pub struct Jws<'a> {
    pub algorithm: Algorithm,
    /// Which key is meant to have signed. RFC 7515 §4.1.4. Anybody can write anything here.
    pub key_id: Option<String>,
    /// What the signature is over. RFC 7515 §5.2.
    pub signed: &'a [u8],
    pub signature: Vec<u8>,
    payload: Vec<u8>,
}

impl<'a> Jws<'a> {
    pub fn parse(token: &'a [u8]) -> Result<Self> {
        if token.len() > LARGEST {
            return Err(Error::TooLarge {
                what: "the token",
                limit: LARGEST,
            });
        }
        // base64url has no dot: a fourth part would not decode.
        let last = memchr::memrchr(b'.', token).ok_or(bad("it has not three parts"))?;
        let (signed, signature) = (
            token.get(..last).unwrap_or_default(),
            token.get(last + 1..).unwrap_or_default(),
        );
        let first = memchr::memchr(b'.', signed).ok_or(bad("it has not three parts"))?;
        let (header, payload) = (
            signed.get(..first).unwrap_or_default(),
            signed.get(first + 1..).unwrap_or_default(),
        );
        let (algorithm, key_id) = read_header(&decode(header)?)?;
        Ok(Self {
            algorithm,
            key_id,
            signed,
            signature: decode(signature)?,
            payload: decode(payload)?,
        })
    }

    /// What the token says. To be asked once the signature was found good.
    pub fn claims(&self) -> Result<Claims> {
        Claims::parse(&self.payload)
    }
}

fn read_header(json: &[u8]) -> Result<(Algorithm, Option<String>)> {
    let header = Object::parse(json)?;
    // Nothing that could be critical is understood here. RFC 7515 §4.1.11.
    if header.has("crit") {
        return Err(bad("it needs what is not understood (crit)"));
    }
    let named = header.text("alg")?.ok_or(bad("it names no algorithm"))?;
    let algorithm = Algorithm::named(named).ok_or(bad("its algorithm is none that is allowed"))?;
    // Tokens of other kinds, though signed by the same issuer, were not made for this. RFC 8725 §3.11.
    if let Some(kind) = header.text("typ")? {
        let kind = kind.to_ascii_lowercase();
        let kind = kind.strip_prefix("application/").unwrap_or(&kind);
        if !matches!(kind, "jwt" | "at+jwt") {
            return Err(bad("it is of another type"));
        }
    }
    let key_id = header.text("kid")?;
    if key_id.is_some_and(|id| id.len() > LONGEST_KEY_ID) {
        return Err(bad("its key has too long a name"));
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
