//! What the fleet keeps in the store for ACME, each sealed for its name: the account, a document
//! for each certificate, and the fleet state, which has the challenge under way.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use roundtrip_store::{AnyStore, Record, Store, StoreError, TakesOnce};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, Zeroizing};

use crate::judge::credentials::Vault;
use crate::judge::login::document::hashed;

/// The prefix of all names in the store.
const PREFIX: &str = "acme.";

pub(super) struct AcmeStore {
    store: AnyStore,
    vault: Arc<Vault>,
    /// The directory, and the account's name at the CA.
    realm: String,
}

/// A key as PKCS #8 in base64. It has no `Debug`.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct StoredKey(String);

#[derive(Serialize, Deserialize)]
pub(super) struct AccountDocument {
    pub(super) key: StoredKey,
    pub(super) url: String,
}

/// The certificate of a name, and what will happen to it next. Times are in seconds since 1970.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct CertificateDocument {
    /// PEM; empty as long as there is none.
    pub(super) chain: String,
    pub(super) key: StoredKey,
    /// When the next order is due.
    pub(super) next: i64,
    /// Failed orders in a row, and why the last one failed.
    pub(super) failures: u32,
    pub(super) error: String,
}

/// The document that all replicas read regularly.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct FleetState {
    /// A number that changes with each document.
    pub(super) version: u64,
    pub(super) challenge: Option<PostedChallenge>,
    /// No order is made before this time.
    pub(super) pause: i64,
    /// Orders in a row that failed because of the CA or the account.
    pub(super) failures: u32,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PostedChallenge {
    pub(super) name: String,
    pub(super) token: String,
    pub(super) authorization: String,
    /// The time after which the challenge is no longer answered.
    pub(super) ends: i64,
}

/// What was found under a name.
pub(super) enum Stored<D> {
    Absent,
    /// The document is sealed with a key that this replica does not have.
    Closed,
    Found(D),
}

impl StoredKey {
    pub(super) fn new(pkcs8: &[u8]) -> Self {
        Self(STANDARD.encode(pkcs8))
    }

    pub(super) fn pkcs8(&self) -> Zeroizing<Vec<u8>> {
        Zeroizing::new(STANDARD.decode(&self.0).unwrap_or_default())
    }
}

impl Drop for StoredKey {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl AcmeStore {
    pub(super) fn new(store: AnyStore, vault: Arc<Vault>, realm: String) -> Self {
        Self {
            store,
            vault,
            realm,
        }
    }

    pub(super) async fn account(&self) -> Result<Stored<AccountDocument>, StoreError> {
        self.read("account", "").await
    }

    pub(super) async fn put_account(&self, document: &AccountDocument) -> Result<(), StoreError> {
        self.write("account", "", document).await
    }

    pub(super) async fn certificate(
        &self,
        name: &str,
    ) -> Result<Stored<CertificateDocument>, StoreError> {
        self.read("certificate", name).await
    }

    pub(super) async fn put_certificate(
        &self,
        name: &str,
        document: &CertificateDocument,
    ) -> Result<(), StoreError> {
        self.write("certificate", name, document).await
    }

    pub(super) async fn fleet_state(&self) -> Result<Stored<FleetState>, StoreError> {
        self.read("fleet", "").await
    }

    pub(super) async fn put_fleet_state(&self, fleet_state: &FleetState) -> Result<(), StoreError> {
        self.write("fleet", "", fleet_state).await
    }

    /// Claims the right to order.
    pub(super) async fn claim(&self, life: Duration) -> Result<bool, StoreError> {
        let name = self.name("order", "");
        self.store.claim(name.as_bytes(), life).await
    }

    pub(super) async fn release(&self) -> Result<(), StoreError> {
        let name = self.name("order", "");
        self.store.release(name.as_bytes()).await
    }

    fn name(&self, kind: &str, of: &str) -> String {
        let hash = hashed(format!("{}\0{kind}\0{of}", self.realm).as_bytes());
        format!("{PREFIX}{kind}.{hash}")
    }

    /// Reads a document, and seals it again if the sealing key has changed.
    async fn read<D: DeserializeOwned>(
        &self,
        kind: &str,
        of: &str,
    ) -> Result<Stored<D>, StoreError> {
        let name = self.name(kind, of);
        let Some(record) = self.store.get(&name).await? else {
            return Ok(Stored::Absent);
        };
        let Some(text) = self.vault.open_text(&purpose(&name), &record.credentials) else {
            return Ok(Stored::Closed);
        };
        if !self.vault.is_sealed_with_first(&record.credentials)
            && let Ok(sealed) = self.vault.seal_text(&purpose(&name), &text)
        {
            let again = Record::new(sealed, None);
            self.store
                .replace(&name, &record.credentials, &again)
                .await?;
        }
        Ok(serde_json::from_slice(&text).map_or(Stored::Closed, Stored::Found))
    }

    async fn write(
        &self,
        kind: &str,
        of: &str,
        document: &impl Serialize,
    ) -> Result<(), StoreError> {
        let name = self.name(kind, of);
        let text = serde_json::to_vec(document).map(Zeroizing::new);
        let text = text.map_err(|_| StoreError::NotUnderstood("it is not JSON"))?;
        let sealed = self.vault.seal_text(&purpose(&name), &text);
        let sealed = sealed.map_err(|_| StoreError::NotUnderstood("it cannot be sealed"))?;
        self.store.put(&name, &Record::new(sealed, None)).await
    }
}

fn purpose(name: &str) -> String {
    format!("acme\0{name}")
}

#[cfg(test)]
mod tests {
    use roundtrip_store::{Memory, SharedStore};

    use super::*;
    use crate::Secret;

    fn acme_store(store: &SharedStore, keys: &[(&str, u8)]) -> AcmeStore {
        let mut vault = Vault::default();
        for (name, byte) in keys {
            vault.add_key(name, &Secret::new(vec![*byte; 32])).unwrap();
        }
        AcmeStore::new(store.on_this_thread(), Arc::new(vault), "https://ca".into())
    }

    fn document() -> CertificateDocument {
        CertificateDocument {
            key: StoredKey::new(b"canary"),
            ..CertificateDocument::default()
        }
    }

    #[tokio::test]
    async fn documents_are_sealed_for_their_name() {
        let store = SharedStore::Memory(Memory::default());
        let first = acme_store(&store, &[("a", 1)]);
        first
            .put_certificate("app.example", &document())
            .await
            .unwrap();
        let names = store.on_this_thread().list(None, 10).await.unwrap().sids;
        let record = store
            .on_this_thread()
            .get(&names[0])
            .await
            .unwrap()
            .unwrap();
        let text = String::from_utf8_lossy(&record.credentials).into_owned();
        let key = STANDARD.encode(b"canary");
        assert!(text.starts_with("l1.a.") && !text.contains(&key), "{text}");
        assert!(!names[0].contains("app"), "{names:?}");
        let found = first.certificate("app.example").await.unwrap();
        let Stored::Found(found) = found else {
            panic!()
        };
        assert_eq!(found.key.pkcs8().as_slice(), b"canary");
        let other = first.certificate("b.example").await.unwrap();
        assert!(matches!(other, Stored::Absent));
        // A replica without the key notices that, and does not believe that the certificate is
        // missing.
        let stranger = acme_store(&store, &[("b", 2)]);
        let closed = stranger.certificate("app.example").await.unwrap();
        assert!(matches!(closed, Stored::Closed));
    }

    #[tokio::test]
    async fn a_new_sealing_key_takes_over_what_is_stored() {
        let store = SharedStore::Memory(Memory::default());
        acme_store(&store, &[("a", 1)])
            .put_certificate("n", &document())
            .await
            .unwrap();
        let both = acme_store(&store, &[("b", 2), ("a", 1)]);
        assert!(matches!(
            both.certificate("n").await.unwrap(),
            Stored::Found(_)
        ));
        let new = acme_store(&store, &[("b", 2)]);
        assert!(matches!(
            new.certificate("n").await.unwrap(),
            Stored::Found(_)
        ));
    }

    #[tokio::test]
    async fn only_one_claims_the_order() {
        let store = SharedStore::Memory(Memory::default());
        let (a, b) = (
            acme_store(&store, &[("a", 1)]),
            acme_store(&store, &[("a", 1)]),
        );
        let life = Duration::from_mins(1);
        assert!(a.claim(life).await.unwrap() && !b.claim(life).await.unwrap());
        a.release().await.unwrap();
        assert!(b.claim(life).await.unwrap());
    }
}
