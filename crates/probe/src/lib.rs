//! One request, or many, explained: the function of `roundtrip probe` without its command line.
//!
//! A [`Prober`] requests a target according to its [`Options`] and returns one
//! [`Exchange`](roundtrip_model::Exchange) for each hop. [`repeat`] requests repeatedly; a
//! [`Sequence`] is several requests measured as one.
//!
//! The modules from the top down; each uses those below it:
//!
//! - `repeat`, `prober`: the public interface;
//! - `sequence`, `priming`, `hops`: the order of exchanges;
//! - `exchange`: one request, or several at once on one connection;
//! - `exchanger`: the steps of an exchange, and the owners of the state between exchanges:
//!   `names` (addresses), `connector` (trust, tickets, tokens), `connection` (the one that is
//!   kept), `protocols` (what origins announced), `interruption`, `counts`;
//! - `observed`, `answer`: facts that become part of an exchange;
//! - `plan`, `request`, `options`: the requested and the offered protocols; pure;
//! - `error`, `failure`: errors, and the words for them.

mod answer;
mod connection;
mod connector;
mod counts;
mod error;
mod exchange;
mod exchanger;
mod failure;
mod hops;
mod interruption;
mod names;
mod observed;
mod options;
mod output;
mod plan;
mod priming;
mod prober;
mod protocols;
mod repeat;
mod request;
mod sequence;

pub use error::ProbeError;
pub use options::{
    ConnectTo, Environment, Exceptions, Family, Options, OptionsError, Override, Proxy,
};
pub use prober::Prober;
pub use repeat::{Pace, repeat};
pub use sequence::{ConnectionUse, Sequence, SequenceRequest};
