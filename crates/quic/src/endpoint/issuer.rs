//! Issues an endpoint's connection ids, by which it routes, and tokens, which it accepts later.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use roundtrip_wire::quic::{ConnectionId, Version};

use super::ids::{ID, IdKey, Owner};
use super::tokens::{self, Occasion};
use crate::Time;
use crate::connection::{Issuer, Random};
use crate::crypto::TokenSealer;

/// The keys of one endpoint.
pub(super) struct Secrets {
    pub(super) ids: IdKey,
    /// The sealer of tokens. `None`: the cryptography refused the key, which never happens with
    /// this length.
    pub(super) vault: Option<TokenSealer>,
}

impl Secrets {
    /// Endpoints that do not know each other's connections may share the key `tokens`. They must
    /// not share `own`, from which the keys of ids and resets are derived.
    pub(super) fn new(own: &[u8; 32], tokens: [u8; 32]) -> Self {
        let mut keys = Random::new(own);
        let id_key = keys.seed().first_chunk().copied().unwrap_or_default();
        Self {
            ids: IdKey::new(id_key),
            vault: TokenSealer::new(tokens, keys.seed()).ok(),
        }
    }

    pub(super) fn reset_token(&self, id: [u8; ID]) -> [u8; 16] {
        let id = ConnectionId::new(&id).unwrap_or_default();
        let vault = self.vault.as_ref();
        vault.map_or([0; 16], |vault| vault.reset_token(&id))
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets")
    }
}

/// Makes the ids and tokens of one connection.
#[derive(Debug)]
pub(super) struct EndpointIssuer {
    secrets: Arc<Secrets>,
    owner: Owner,
    /// Only on a server: how many tokens it gives, and the random numbers that distinguish them.
    tokens: Option<(u8, Random)>,
}

impl EndpointIssuer {
    pub(super) fn client(secrets: Arc<Secrets>, owner: Owner) -> Self {
        Self {
            secrets,
            owner,
            tokens: None,
        }
    }

    pub(super) fn server(secrets: Arc<Secrets>, owner: Owner, tokens: u8, random: Random) -> Self {
        Self {
            secrets,
            owner,
            tokens: Some((tokens, random)),
        }
    }
}

impl Issuer for EndpointIssuer {
    fn id(&self, sequence: u64) -> (ConnectionId, [u8; 16]) {
        let id = self.secrets.ids.id(self.owner, sequence);
        let bytes = id.as_slice().first_chunk().copied().unwrap_or_default();
        (id, self.secrets.reset_token(bytes))
    }

    fn tokens(&mut self, version: Version, now: Time, remote: SocketAddr) -> Vec<Bytes> {
        let occasion = Occasion {
            version,
            now,
            remote,
        };
        let (Some((count, random)), Some(vault)) = (&mut self.tokens, &self.secrets.vault) else {
            return Vec::new();
        };
        (0..*count)
            .filter_map(|_| tokens::seal_new(vault, random, &occasion))
            .collect()
    }
}
