//! TLS driven by hand, for either side.
//!
//! [`Stream`] keeps what leaves together in one write (a ClientHello with its early data, a Finished with the request
//! behind it) and hands early data to whoever reads first. [`Client`] builds configurations from what a strategy asks,
//! loads trusted certificates while the server's answer is on its way, and remembers tickets; a [`Keepsake`] is one that
//! outlives the process. A [`Secret`] is what keys and passwords are read as, here and above. Who owns the socket records the bytes; this crate records the handshake's ends and the work done
//! between packets.

mod bond;
mod chain;
mod client;
mod compression;
mod error;
mod facts;
mod framing;
mod identity;
mod keepsake;
mod notes;
mod planting;
mod roots;
mod secret;
mod stream;
mod suites;
mod tickets;
mod verifier;

pub use client::{Client, Offer, join, key_exchanges};
pub use compression::certificate_compressor;
pub use error::{KeepsakeError, TlsError};
pub use facts::{handshake_facts, peer_facts};
pub use identity::Identity;
pub use keepsake::Keepsake;
pub use notes::{Listening, TicketReader};
pub use roots::Roots;
pub use secret::{Secret, SecretError};
pub use stream::Stream;
pub use tickets::Tickets;
pub use verifier::Witness;
