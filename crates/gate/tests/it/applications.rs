//! What applications need from gate, tested with programs of other makers: Node, gRPC's own
//! library, browsers, aioquic, python-h2.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)] // what a test expects is expected of the code

mod cors;
mod grpc;
mod stage;
mod trailers;
mod websocket;
