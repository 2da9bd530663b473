//! Tokens that servers give for a client's next connection, so that they need not doubt its address again. RFC 9000
//! §8.1.3. Without one a server that is asked in early data may answer with three times what it received, and must then
//! wait a round trip for the rest.

use std::sync::Arc;

use bytes::Bytes;
use quinn::{TokenMemoryCache, TokenStore};

/// A token shares the first datagram with the hello. Real ones are some sixty to a hundred bytes.
const MOST: usize = 512;

/// What a client remembers from one connection to the next.
#[derive(Debug, Clone, Default)]
pub struct Tokens(Arc<TokenMemoryCache>);

impl Tokens {
    /// Takes out a server's tokens, for a later process: each is shown once, here or elsewhere.
    pub fn take(&self, host: &str) -> Vec<Bytes> {
        std::iter::from_fn(|| self.0.take(bare(host)))
            .filter(is_sound)
            .collect()
    }

    /// Puts in what an earlier process took out. `false` if it cannot be a token.
    pub fn insert(&self, host: &str, token: Bytes) -> bool {
        let sound = is_sound(&token);
        if sound {
            self.0.insert(bare(host), token);
        }
        sound
    }

    /// For one connection: what comes is kept; what is there is shown only by a client that may be recognised.
    pub(super) fn for_connection(&self, shown: bool) -> Arc<dyn TokenStore> {
        if shown {
            return self.0.clone();
        }
        Arc::new(Silent(self.0.clone()))
    }
}

/// As the name is when the connection is opened.
fn bare(host: &str) -> &str {
    host.strip_suffix('.').unwrap_or(host)
}

/// None is empty. RFC 9000 §19.7.
fn is_sound(token: &Bytes) -> bool {
    (1..=MOST).contains(&token.len())
}

struct Silent(Arc<TokenMemoryCache>);

impl TokenStore for Silent {
    fn insert(&self, server_name: &str, token: Bytes) {
        self.0.insert(server_name, token);
    }

    fn take(&self, _: &str) -> Option<Bytes> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_go_from_one_client_to_the_next_once() {
        let (first, later) = (Tokens::default(), Tokens::default());
        for token in ["one", "two"] {
            assert!(first.insert("example.com.", token.into()));
        }
        assert!(first.take("example.org").is_empty());
        let taken = first.take("example.com");
        assert_eq!(taken.len(), 2);
        assert!(first.take("example.com").is_empty());
        assert!(later.insert("example.com", taken[0].clone()));
        assert_eq!(later.for_connection(false).take("example.com"), None);
        let shown = later.for_connection(true).take("example.com");
        assert_eq!(shown.as_ref(), Some(&taken[0]));
        assert!(later.take("example.com").is_empty());
    }

    #[test]
    fn what_cannot_be_a_token_is_not_put_in() {
        let tokens = Tokens::default();
        for bytes in [0, MOST + 1, 1 << 20] {
            assert!(!tokens.insert("example.com", vec![7; bytes].into()));
        }
        assert!(tokens.take("example.com").is_empty());
    }
}
