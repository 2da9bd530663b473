//! The user and password in a URL.

use zeroize::Zeroizing;

use super::Secret;

/// Decodes the user or password of a URL; `None` if it is not UTF-8.
pub(super) fn percent_decoded(text: &str) -> Option<Secret> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(text.len()));
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let digit = |at: usize| char::from(*after.get(at)?).to_digit(16);
        match (byte, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => {
                bytes.push((high * 16 + low) as u8);
                rest = after.get(2..).unwrap_or_default();
            }
            _ => {
                bytes.push(byte); // a bare '%' is kept, as in the URL standard
                rest = after;
            }
        }
    }
    std::str::from_utf8(&bytes).ok().map(Secret::from)
}
