//! The vocabulary of roundtrip: the terms that all other crates use.
//!
//! Pure values: no I/O, no async, and no clock. Data flows in one direction:
//! `Target → Strategy → Exchange (Timeline + facts) → phases → Finding → report`.

// Tests that several crates include name this one as the others do.
#[cfg(test)]
extern crate self as roundtrip_model;

mod clock;
mod comparison;
mod duration;
mod event;
mod exchange;
mod facts;
mod failure;
mod histogram;
mod limit;
mod origin;
mod phase;
mod phase_name;
mod random;
mod saving;
mod secret_name;
mod strategy;
mod summary;
mod target;
mod text;
mod timeline;
mod trace_context;
mod waited;

pub use clock::{Clock, ClockReading, Moment, WallClock};
pub use comparison::{Bound, ComparisonOperator};
pub use duration::{parse_duration, show_duration};
pub use event::{Event, Task};
pub use exchange::{Exchange, Finding, Primer, Setting, Unexplained, Withdrawn};
pub use facts::{
    Answer, Attempt, AttemptOutcome, CertificateFacts, ChainFacts, EarlyData, EchoFacts,
    FastOpenFacts, HttpFacts, HttpsRecord, KeptFacts, NameFacts, NameWaits, NotKept, QuicFacts,
    TcpFacts, TlsFacts,
};
pub use failure::{Failure, FailureKind};
pub use histogram::Histogram;
pub use limit::{Limit, LimitError};
pub use origin::{Origin, Scheme};
pub use phase::{
    BodyTransfer, FullWindow, INITIAL_WINDOW, Pause, Phase, Spread, is_like_a_timeout,
    is_like_timeouts,
};
pub use phase_name::PhaseName;
pub use random::{Random, blocks};
pub use saving::{CONFIDENCE, MIN_PAIRS, Saving};
pub use secret_name::{is_secret_name, mask_parameters, mask_url};
pub use strategy::{Http, Memory, Security, Strategy, StrategyError};
pub use summary::Summary;
pub use target::{Target, TargetError};
pub use text::{acts, excerpt};
pub use timeline::{Recorder, Timeline};
pub use trace_context::TraceContext;
pub use waited::Waited;
