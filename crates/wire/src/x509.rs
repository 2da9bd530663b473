//! What a certificate says, for people to read. Whether it is to be trusted is the TLS library's to judge.

mod certificate;
mod der;
mod key;
mod name;
mod oid;
mod time;

pub use certificate::Certificate;
pub use name::DistinguishedName;
