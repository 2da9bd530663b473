//! DNS messages, parsed and written. Sockets, retries and deadlines are left to the resolver.

mod encode;
mod kind;
mod message;
mod name;
mod presentation;
mod query;
mod record;
mod resolve;
mod service;

pub use kind::Kind;
pub use message::{Message, Question, Rcode};
pub use name::Name;
pub use presentation::{ResponseText, class_number};
pub use query::{Query, UDP_SIZE};
pub use record::{Data, Record, Soa};
pub use resolve::Resolved;
pub use service::Service;
