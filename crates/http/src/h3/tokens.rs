//! Tokens that servers give for a client's next connection, so that they need not doubt its address again. RFC 9000
//! §8.1.3. Without one a server that is asked in early data may answer with three times what it received, and must then
//! wait a round trip for the rest.

use std::sync::Arc;

use bytes::Bytes;
use quinn::{TokenMemoryCache, TokenStore};

/// What a client remembers from one connection to the next.
#[derive(Debug, Clone, Default)]
pub struct Tokens(Arc<TokenMemoryCache>);

impl Tokens {
    /// For one connection: what comes is kept; what is there is shown only by a client that may be recognised.
    pub(super) fn for_connection(&self, shown: bool) -> Arc<dyn TokenStore> {
        if shown {
            return self.0.clone();
        }
        Arc::new(Silent(self.0.clone()))
    }
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
