//! The pool against an origin on the loopback: connections counted by the server, answers whole, failures named.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod faults;
mod many;
mod memory;
mod names;
mod protocols;
mod scene;
mod scripted;
mod trouble;
