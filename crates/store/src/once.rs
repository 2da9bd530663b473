//! Things that happen only once among all users of the store: a value is taken (TLS sessions for
//! early data, RFC 8446 §8.1; the listener encrypts them and knows their content), or a name is
//! claimed (work that only one of them may do).

use std::time::Duration;

use crate::StoreError;

/// A value that can be taken once, with its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Once {
    pub name: Vec<u8>,
    pub value: Vec<u8>,
}

#[allow(async_fn_in_trait)] // used within one thread: its futures need not be `Send`
pub trait TakesOnce {
    /// Stores the values for `life`, or until each is taken.
    async fn keep(&self, entries: Vec<Once>, life: Duration) -> Result<(), StoreError>;

    /// Takes a value. If several callers ask for one name, only one gets the value.
    async fn take(&self, name: &[u8]) -> Result<Option<Vec<u8>>, StoreError>;

    /// Claims a name for `life`. Returns whether the claim succeeded; if several callers claim one
    /// name, only one succeeds. A failover of Redis can forget a claim.
    async fn claim(&self, name: &[u8], life: Duration) -> Result<bool, StoreError>;

    /// Gives up a claim, so that the name can be claimed again at once. Only the claim's owner may
    /// do this.
    async fn release(&self, name: &[u8]) -> Result<(), StoreError>;
}
