//! Single-use values, which only one user of the store can take: TLS sessions for early data (RFC
//! 8446 §8.1). The listener encrypts them and knows their content.

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
}
