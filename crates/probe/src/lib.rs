//! One request, or many, explained: what `roundtrip probe` does, without the command line.
//!
//! A [`Prober`] asks a target as its [`Options`] say and returns one
//! [`Exchange`](roundtrip_model::Exchange) for each hop. [`repeat`] asks again and again; a
//! [`Sequence`] is several requests measured as one thing.
//!
//! From the top down, each module using those below it:
//!
//! - `repeat`, `prober`: the face;
//! - `sequence`, `priming`, `hops`: which exchanges follow each other;
//! - `exchange`: one request, or several at once on one connection;
//! - `exchanger`: the steps of an exchange, and the owners of what lasts from one to the next:
//!   `names` (addresses), `connector` (trust, tickets, tokens), `connection` (the one that is
//!   kept), `protocols` (what origins announced), `interruption`, `counts`;
//! - `observed`, `answer`: what was learnt, as facts of an exchange;
//! - `plan`, `request`, `options`: what is meant, and what to offer; pure;
//! - `error`, `failure`: what went wrong, and the words for it.

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
pub use sequence::{Ask, Manner, Sequence};
