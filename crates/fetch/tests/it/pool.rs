//! The pool with an origin on the loopback: the server counts connections, answers are complete,
//! failures have reasons.

mod failures;
mod faults;
mod many;
mod memory;
mod names;
mod protocols;
mod scene;
mod scripted;
