//! One request, or many, explained: what `roundtrip probe` does, without the command line.
//!
//! A [`Prober`] asks a target as its [`Options`] say and returns one [`Exchange`](roundtrip_model::Exchange) for each
//! hop. The way there: `plan` (what to offer) → `name` (addresses) → `open` (connection) → `exchange` (request and
//! response) → `failure` (what went wrong, in words). [`repeat`] asks again and again; a [`Sequence`] is several requests
//! measured as one thing.

mod again;
mod at_once;
mod doh;
mod echo;
mod environment;
mod error;
mod exchange;
mod failure;
mod name;
mod open;
mod options;
mod plan;
mod prober;
mod proxy;
mod race;
mod redirect;
mod repeat;
mod request;
mod sequence;
mod spool;
mod wave;

pub use environment::{Environment, Exceptions};
pub use error::ProbeError;
pub use options::{ConnectTo, Family, Options, OptionsError, Override, Proxy};
pub use prober::Prober;
pub use repeat::{Pace, repeat};
pub use sequence::{Ask, Manner, Sequence};
