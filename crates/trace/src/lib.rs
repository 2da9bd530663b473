//! Turns the packets of any client into exchanges: says about other programs' requests what `probe`
//! says about its own.
//!
//! Frames go in, in the order of a capture; conversations come out when their connections are over.
//! A flow holds facts only. Its [`Vantage`] is decided first; then everything is read in the
//! client's time, as the same timeline that `probe` writes, so that `model` cuts it into phases and
//! `explain` names causes. What a capture cannot show is reported, never guessed. Pure: no I/O, no
//! clock.

mod application;
mod clocks;
mod conversation;
mod counts;
mod cut;
mod exchanges;
mod flow;
mod fragments;
mod http1;
mod http2;
mod join;
pub mod json;
mod key;
mod ladder;
mod names;
mod opened;
pub mod page;
mod quic;
mod ranking;
mod records;
mod relations;
mod requests;
mod siblings;
mod sight;
mod spread;
mod steps;
mod stream;
mod tcp;
mod telling;
pub mod text;
pub mod told;
mod trace;
mod twins;
mod vantage;
mod view;

pub use clocks::{ClockRelation, Clocks};
pub use conversation::{Carrier, Conversation, Elsewhere, LadderStep, Located, Undecidable};
pub use counts::CaptureCounts;
pub use cut::Cut;
pub use exchanges::explain;
pub use ranking::{CauseTotal, Ranking, ServerTotal};
pub use trace::{Options, Trace};
pub use vantage::{Vantage, VantagePoint};
