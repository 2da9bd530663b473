//! Reads a token from a cookie in hyper-auth-proxy's format: in standard base64, padded or not,
//! with double quotes around the base64, around the token inside it, or none.

use base64::Engine;
use base64::engine::general_purpose::STANDARD_PAD_INDIFFERENT;

use super::{MAX_TOKEN, bad};
use crate::{Error, Result};

/// The longest cookie value in bytes: base64 of the largest token and two quotes, and two more
/// quotes around it.
const MAX_COOKIE: usize = (MAX_TOKEN + 2).div_ceil(3) * 4 + 2;

/// The token in a cookie's value. A token that is not in base64 is refused; it would have dots.
pub fn token_from_cookie(value: &[u8]) -> Result<Vec<u8>> {
    if value.len() > MAX_COOKIE {
        return Err(Error::TooLarge {
            what: "the cookie",
            limit: MAX_COOKIE,
        });
    }
    let mut token = STANDARD_PAD_INDIFFERENT
        .decode(without_quotes(value))
        .map_err(|_| bad("the cookie's value is not base64"))?;
    let inner = without_quotes(&token).len();
    if inner < token.len() {
        token.pop();
        token.remove(0);
    }
    Ok(token)
}

/// Removes one pair of quotes, if there is one.
fn without_quotes(value: &[u8]) -> &[u8] {
    match value {
        [b'"', inner @ .., b'"'] => inner,
        _ => value,
    }
}
