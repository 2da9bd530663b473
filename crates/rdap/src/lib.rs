//! The RDAP client: registration data of names, addresses and numbers, over connections that are kept.
//!
//! A [`query`] is what is asked, [`bootstrap`] says whom, [`pool`] carries it over a connection that is already there or
//! comes up in one flight, [`memory`] keeps for the next run what this one paid for, [`manners`] keeps servers content,
//! and [`answer`], [`text`] and [`check`] read what came back. [`client`] puts one lookup together, [`bulk`] many. Flags
//! and streams are the binary's.

pub mod answer;
pub mod bootstrap;
pub mod bulk;
pub mod check;
pub mod client;
pub mod credentials;
mod flights;
pub mod manners;
pub mod memory;
pub mod pool;
pub mod query;
pub mod text;
