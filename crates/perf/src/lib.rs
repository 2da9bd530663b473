//! What a transport costs one core: TCP, TLS over it, and QUIC, under the same work, measured in
//! turn.
//!
//! ```text
//! Plan ── checked ──▶ run ── round by round, arm by arm ──▶ Outcome ──▶ text, JSON, page
//!                      │
//!                    Scene: two namespaces, a thread in each, each kept on its core
//!                      │        or `remote`: two machines, by a conversation over TCP
//!                    Engine::listen → Station::serve  ◀── wire ──▶  Engine::drive
//!                      │                                               │
//!                    Side: payload, packets, CPU time               Side
//! ```
//!
//! [`PerfPlan`] says what is measured, and is checked for contradictions. An [`Engine`] is one
//! implementation of one transport. [`Usage`] is the cost of a side, and defines what counts;
//! [`Bottleneck`] is what limited the rate. `path` emulates paths; `net` has sockets and thread
//! clocks.

mod account;
mod check;
mod engine;
mod error;
pub mod html;
mod identity;
pub mod json;
mod outcome;
mod pauses;
pub mod plan;
mod protocol;
mod ratio;
pub mod remote;
mod run;
mod scene;
mod stop;
pub mod text;
mod verdict;

pub use account::{Core, Usage};
pub use engine::{Engine, Job, ListeningServer, Pulse, SideReport, WireCounters};
pub use error::{PerfError, PlanError};
pub use identity::{ServerIdentity, Trust};
pub use outcome::{PerfArmOutcome, PerfFigures, PerfOutcome, Visit};
pub use plan::PerfPlan;
pub use ratio::{CostRatio, RatioInterval};
pub use run::{PerfProgress, run, run_until};
pub use scene::PerfScene;
pub use stop::Stop;
pub use verdict::Bottleneck;
