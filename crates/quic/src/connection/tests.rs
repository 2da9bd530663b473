//! A client and a server joined in memory, in virtual time.

mod bulk;
mod ending;
mod handshakes;
mod pair;
mod paths;
mod violations;
