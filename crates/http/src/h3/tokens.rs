//! Stores the address tokens that servers give for a client's next connection. RFC 9000 §8.1.3.
//! Without one, a server may answer early data with at most three times the bytes that it received,
//! and must then wait a round trip to send the rest.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

/// A token shares the first datagram with the hello. Real ones are sixty to a hundred bytes long.
const MAX_TOKEN_SIZE: usize = 512;
/// The newest tokens of each server are kept, for the servers that gave some most recently.
const MAX_TOKENS_EACH: usize = 4;
const MAX_SERVERS: usize = 256;

/// The tokens that a client remembers from one connection to the next.
#[derive(Debug, Clone, Default)]
pub struct Tokens(Arc<Mutex<VecDeque<ServerTokens>>>);

#[derive(Debug)]
struct ServerTokens {
    name: String,
    /// The tokens, at least one; the newest is last.
    tokens: VecDeque<Bytes>,
}

impl Tokens {
    /// Takes out a server's tokens, for a later process. Each token is used once, by this process
    /// or by another.
    pub fn take(&self, host: &str) -> Vec<Bytes> {
        let server = remove(&mut self.lock(), host);
        server.map_or_else(Vec::new, |server| server.tokens.into())
    }

    /// Inserts a token that a server gave, or that an earlier process stored. Returns false if it
    /// cannot be a token.
    pub fn insert(&self, host: &str, token: Bytes) -> bool {
        // A token is never empty. RFC 9000 §19.7.
        if !(1..=MAX_TOKEN_SIZE).contains(&token.len()) {
            return false;
        }
        let mut servers = self.lock();
        let mut server = remove(&mut servers, host).unwrap_or_else(|| ServerTokens {
            name: bare(host).to_owned(),
            tokens: VecDeque::new(),
        });
        server.tokens.push_back(token);
        if server.tokens.len() > MAX_TOKENS_EACH {
            server.tokens.pop_front();
        }
        servers.push_back(server);
        if servers.len() > MAX_SERVERS {
            servers.pop_front();
        }
        true
    }

    /// Takes the newest token of a server, for one connection.
    pub(super) fn take_newest(&self, host: &str) -> Option<Bytes> {
        let mut servers = self.lock();
        let mut server = remove(&mut servers, host)?;
        let token = server.tokens.pop_back();
        if !server.tokens.is_empty() {
            servers.push_back(server);
        }
        token
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<ServerTokens>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn remove(servers: &mut VecDeque<ServerTokens>, host: &str) -> Option<ServerTokens> {
    let place = servers.iter().position(|s| s.name == bare(host))?;
    servers.remove(place)
}

/// The name without the root's dot, as connections use it.
fn bare(host: &str) -> &str {
    host.strip_suffix('.').unwrap_or(host)
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
        assert_eq!(later.take_newest("example.com.").as_ref(), Some(&taken[0]));
        assert_eq!(later.take_newest("example.com"), None);
        assert!(later.take("example.com").is_empty());
    }

    #[test]
    fn invalid_tokens_are_not_inserted() {
        let tokens = Tokens::default();
        for bytes in [0, MAX_TOKEN_SIZE + 1, 1 << 20] {
            assert!(!tokens.insert("example.com", vec![7; bytes].into()));
        }
        assert!(tokens.take("example.com").is_empty());
    }

    #[test]
    fn the_newest_are_kept() {
        let tokens = Tokens::default();
        for n in 0..=MAX_TOKENS_EACH as u8 {
            assert!(tokens.insert("example.com", vec![n].into()));
        }
        assert_eq!(tokens.take_newest("example.com"), Some(vec![4].into()));
        let kept: Vec<u8> = tokens.take("example.com").concat();
        assert_eq!(kept, [1, 2, 3]);
        for n in 0..MAX_SERVERS {
            assert!(tokens.insert(&n.to_string(), "old".into()));
        }
        assert!(tokens.insert("0", "new".into()));
        assert!(tokens.insert("example.com", "new".into()));
        assert!(tokens.take("1").is_empty());
        assert_eq!(tokens.take("0").len(), 2);
    }
}
