//! DNS messages, both ways. Sockets, retries and deadlines belong to whoever resolves.

mod encode;
mod message;
mod name;
mod query;
mod record;
mod resolve;
mod service;

pub use message::{Message, Question, Rcode};
pub use name::Name;
pub use query::{Query, UDP_SIZE};
pub use record::{Data, Kind, Record, Soa};
pub use resolve::Resolved;
pub use service::Service;
