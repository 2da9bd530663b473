//! Turns the packets of any client into exchanges, so that other programs' requests are explained
//! like `probe`'s own.
//!
//! Frames go in, in the order of a capture; conversations come out when their connections have
//! ended. A flow holds only facts. Its [`Vantage`] is decided first; then all times are converted
//! to the client's and written to the same timeline as `probe`'s, so that `model` divides it into
//! phases and `explain` names causes. Facts that a capture cannot show are reported as missing,
//! never guessed. Pure: no I/O, no clock.

mod application;
mod assemble;
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
pub mod logs;
mod names;
mod opened;
pub mod page;
mod quic;
mod ranking;
mod records;
mod relations;
mod requests;
mod segment;
mod siblings;
mod spread;
mod steps;
mod stream;
mod tcp;
pub mod text;
mod trace;
mod translated;
mod tried;
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
