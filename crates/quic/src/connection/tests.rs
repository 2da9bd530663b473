//! A client and a server joined in memory, in virtual time.

mod amplification;
mod bulk;
mod ending;
mod handshakes;
mod hostile;
mod memory;
pub(crate) mod pair;
mod paths;
mod violations;
