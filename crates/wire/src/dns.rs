//! DNS messages, parsed and written. Sockets, retries and deadlines are left to the resolver.

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
