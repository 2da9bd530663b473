//! An emulated network path in network namespaces, for root, ordinary users, and root of a
//! container.
//!
//! ```text
//!  client namespace          relay namespace            server namespace
//!  198.18.0.1  2001:2::1                                198.18.0.2  2001:2::2
//!  eth0 ───── veth ───── to-client   to-server ───── veth ───── eth0
//!                              └─ relay ─┘
//! ```
//!
//! TCP and UDP at both ends are the kernel's own. The relay holds each packet for its delay, loses
//! packets as configured and runs the others through middleboxes. [`Path::builder`] describes a
//! path, [`Namespace`] runs commands and threads on either side, [`Path::counters`] reports which
//! packets crossed and how exactly.
//!
//! A bare wire ([`Builder::bare`]) has one veth pair instead of the relay, for measurements of
//! processor cost.
//!
//! # How it is built without privileges
//!
//! An ordinary user can create network namespaces inside a user namespace, which only a
//! single-threaded process can enter. So [`Builder::build`] forks a *reaper* (`reaper`), which
//! creates the namespaces, opens sockets in each and passes them back; wiring (`wiring`,
//! `rtnetlink`) and relay (`relay`) then work from the calling process through these sockets. There
//! is no helper binary, no `ip`, no TUN and no kernel module but veth. A caller with
//! `CAP_SYS_ADMIN`, `CAP_NET_ADMIN` and `CAP_NET_RAW` gets network namespaces only.
//!
//! - [`Namespace::command`] and [`Namespace::sysctl`] work for every user.
//! - [`Namespace::run`] runs a closure on a thread inside. For an ordinary user it works once the
//!   process is root of its own user namespace: call [`enter_sandbox`] first thing in `main`, or
//!   [`sandbox_before_main!`] in a test.
//!
//! # How it ends
//!
//! A path has no name in the file system. When the [`Path`] is dropped, or its process ends in any
//! way, the kernel closes the connection to the reaper, which kills everything inside and exits;
//! the kernel removes the rest.
//!
//! # What it does not do
//!
//! Packets are forwarded without being interpreted, except as far as a middlebox needs it. Packet
//! formats belong to `wire`, statistics to `perf` and `lab`. The relay's thread counts toward the
//! CPU time of the calling process; to measure that process, run the path in another one, as
//! `roundtrip path` does.

mod builder;
mod congestion;
mod counters;
mod course;
mod direction;
mod error;
mod flow;
mod frame;
mod hello;
mod hop;
mod identity;
mod link;
mod middlebox;
mod names;
mod namespace;
mod outcome;
mod packet;
mod path;
mod presets;
mod random;
mod reaper;
mod recording;
mod refusal;
mod relay;
mod rtnetlink;
mod sandbox;
mod section;
mod side;
mod step;
mod syscall;
mod uplink;
mod wiring;
mod words;

pub use builder::Builder;
pub use congestion::CongestionControls;
pub use counters::{DirectionCounters, Lateness, PathCounters};
pub use direction::Direction;
pub use error::PathError;
pub use link::{
    Corruption, Discipline, Jitter, JitterShape, Link, LinkMtu, LinkOutage, Loss, LossTarget,
    Queue, QueueSize, Rate, Reorder, Trace,
};
pub use middlebox::Middlebox;
pub use names::{CLIENT_NAMES, SERVER_NAMES};
pub use namespace::Namespace;
pub use path::Path;
pub use presets::{PRESETS, Preset};
pub use refusal::NamespaceRefusal;
pub use sandbox::enter_sandbox;
pub use step::SetupStep;
pub use words::{PathWord, WORDS, WordError};
