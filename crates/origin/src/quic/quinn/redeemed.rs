//! Address tokens that clients have used: each is valid for one connection (RFC 9000, section
//! 8.1.4).

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use quinn::{TokenLog, TokenReuseError};

/// The largest number of tokens that are remembered. If there are as many and all are still valid,
/// no other token is accepted.
const MAX_USED_TOKENS: usize = 65_536;

/// The random numbers of used tokens, and when each was issued.
#[derive(Debug, Default)]
pub(crate) struct UsedTokens(Mutex<HashMap<u128, SystemTime>>);

impl TokenLog for UsedTokens {
    fn check_and_insert(
        &self,
        nonce: u128,
        issued: SystemTime,
        lifetime: Duration,
    ) -> Result<(), TokenReuseError> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_USED_TOKENS {
            known.retain(|_, issued| issued.elapsed().is_ok_and(|age| age <= lifetime));
        }
        if known.len() >= MAX_USED_TOKENS || known.insert(nonce, issued).is_some() {
            return Err(TokenReuseError);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_good_once() {
        let redeemed = UsedTokens::default();
        let show = |nonce| {
            let lifetime = Duration::from_mins(1);
            redeemed
                .check_and_insert(nonce, SystemTime::now(), lifetime)
                .is_ok()
        };
        assert!(show(1) && show(2));
        assert!(!show(1) && !show(2));
    }

    #[test]
    fn expired_tokens_make_room() {
        let redeemed = UsedTokens::default();
        let hour = Duration::from_hours(1);
        let old = SystemTime::now() - 2 * hour;
        for nonce in 0..MAX_USED_TOKENS as u128 {
            assert!(redeemed.check_and_insert(nonce, old, 3 * hour).is_ok());
        }
        let new = |lifetime| redeemed.check_and_insert(u128::MAX, SystemTime::now(), lifetime);
        assert!(new(3 * hour).is_err());
        assert!(new(hour).is_ok());
    }
}
