//! The user and password in a URL.

use roundtrip_wire::percent;
use zeroize::Zeroizing;

use super::Secret;

/// Decodes the user or password of a URL; `None` if it is not UTF-8.
pub(super) fn percent_decoded(text: &str) -> Option<Secret> {
    // The buffer has room for everything, because a buffer that grows would leave copies behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(text.len()));
    bytes.extend(percent::decode(text));
    std::str::from_utf8(&bytes).ok().map(Secret::from)
}
