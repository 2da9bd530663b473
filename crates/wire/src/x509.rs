//! The content of a certificate, for people to read. The TLS library decides whether to trust it.

mod certificate;
mod der;
mod key;
mod name;
mod oid;
mod time;

pub use certificate::Certificate;
pub use name::DistinguishedName;
