//! The RDAP client: registration data of names, addresses and numbers, over persistent connections.
//!
//! A [`query`] says what to ask and [`bootstrap`] which server knows. [`pool`] carries the request
//! over an existing connection, or opens one in a single flight; [`memory`] stores what the next
//! run can use, and [`rate_limiter`] limits how often a server is asked. [`answer`], [`text`] and
//! [`check`] interpret what came back. [`client`] puts one lookup together, [`bulk`] many. Flags
//! and streams are handled by the binary.

pub mod answer;
pub mod bootstrap;
pub mod bulk;
pub mod check;
pub mod client;
pub mod credentials;
mod flights;
pub mod memory;
pub mod pool;
pub mod query;
pub mod rate_limiter;
pub mod text;
