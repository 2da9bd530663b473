//! Datagrams and names, over loopback.

#![allow(clippy::unwrap_used, clippy::panic)]

mod datagrams;
mod resolver;
