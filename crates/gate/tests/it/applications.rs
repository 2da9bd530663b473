//! What applications need from gate, tested with other implementations: Node, gRPC's own library,
//! browsers, aioquic, python-h2.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)] // a test may panic

mod cors;
mod grpc;
pub(crate) mod stage;
mod trailers;
mod websocket;
