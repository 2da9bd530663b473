//! An emulated network path, in network namespaces, for anyone: root, ordinary user, or root of a container.
//!
//! ```text
//!  client namespace          relay namespace            server namespace
//!  198.18.0.1  2001:2::1                                198.18.0.2  2001:2::2
//!  eth0 ───── veth ───── to-client   to-server ───── veth ───── eth0
//!                              └─ relay ─┘
//! ```
//!
//! The kernels' own TCP and UDP run at both ends; the relay holds each packet for its delay, loses those it is told to
//! lose and lets middleboxes meddle with the rest. [`Path::builder`] says what the path is, [`Namespace`] puts commands
//! and threads on either side, [`Path::counters`] tells what crossed and how exactly.
//!
//! A bare wire ([`Builder::bare`]) is the same with one veth pair and no relay, for whoever measures what the processor
//! does.
//!
//! # How it is made without privilege
//!
//! An ordinary user may make network namespaces in a user namespace of its own, which only a process with a single
//! thread may enter. So [`Builder::build`] forks a *keeper* (`keeper`), which makes the namespaces, opens sockets in
//! each and passes them back; wiring (`wiring`, `rtnetlink`) and relay (`relay`) then work from the calling process,
//! through these sockets. No helper binary, no `ip`, no TUN, no kernel module but veth. A caller with
//! `CAP_SYS_ADMIN`, `CAP_NET_ADMIN` and `CAP_NET_RAW` gets network namespaces only.
//!
//! - [`Namespace::command`] and [`Namespace::sysctl`] work for everybody.
//! - [`Namespace::run`], a closure on a thread inside, works for an ordinary user once the process has made itself
//!   root of its own user namespace: [`enter_sandbox`] first thing in `main`, or [`sandbox_before_main!`] in a test.
//!
//! # How it ends
//!
//! Nothing of it has a name in the file system. When the [`Path`] is dropped, or its process ends in whatever way, the
//! kernel hangs up on the keeper, which kills all that runs inside and exits; the kernel takes down the rest.
//!
//! # What it leaves to others
//!
//! Packets are forwarded without being understood, but for what a middlebox needs: analysis belongs to `wire` and
//! `trace`, statistics to `perf` and `lab`. Note that the relay's two threads count toward the CPU time of the calling
//! process; measure that in a process of its own, as `roundtrip path` runs it.

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
mod keeper;
mod link;
mod middlebox;
mod names;
mod namespace;
mod outcome;
mod packet;
mod path;
mod presets;
mod random;
mod recording;
mod refusal;
mod relay;
mod rtnetlink;
mod sandbox;
mod stretch;
mod syscall;
mod uplink;
mod wiring;
mod words;

pub use builder::Builder;
pub use congestion::CongestionControls;
pub use counters::{Counters, Lateness, Tally};
pub use direction::Direction;
pub use error::{Error, Step};
pub use link::{
    Discipline, Jitter, Link, Loss, Mtu, Outage, Queue, Rate, Reorder, Room, Shape, Target, Trace,
};
pub use middlebox::Middlebox;
pub use names::{CLIENT_NAMES, SERVER_NAMES};
pub use namespace::Namespace;
pub use path::Path;
pub use presets::{PRESETS, Preset};
pub use refusal::Refusal;
pub use sandbox::enter_sandbox;
pub use words::{WORDS, Word, WordError};
