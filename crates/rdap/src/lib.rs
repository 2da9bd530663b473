//! The RDAP client: registration data of names, addresses and numbers, over persistent connections.
//!
//! [`query`] parses queries, and [`bootstrap`] finds the servers for them. [`roundtrip_fetch`]
//! carries the requests, stores data for the next run, and limits how often a server is asked.
//! [`answer`], [`text`] and [`check`] interpret answers. [`client`] performs one lookup, [`bulk`]
//! many; [`server_check`] makes the requests that show whether a server conforms. Flags and streams
//! are handled by the binary.
//!
//! ```
//! use roundtrip_rdap::query::Query;
//!
//! # fn main() -> Result<(), roundtrip_rdap::query::QueryError> {
//! let query = Query::parse("example.com", None)?;
//! assert_eq!(query.path(), "domain/example.com");
//! assert_eq!(Query::parse("AS64500", None)?.path(), "autnum/64500");
//! # Ok(())
//! # }
//! ```

pub mod answer;
pub mod bootstrap;
pub mod bulk;
pub mod check;
pub mod client;
pub mod credentials;
pub mod published_limits;
pub mod query;
mod requested;
pub mod server_check;
pub mod text;
