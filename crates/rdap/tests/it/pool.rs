//! The pool against an origin on the loopback: connections counted by the server, answers whole,
//! failures named.

mod failures;
mod faults;
mod many;
mod memory;
mod names;
mod protocols;
mod scene;
mod scripted;
