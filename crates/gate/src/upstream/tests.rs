//! Upstreams: who gets which connection, what servers' faults lead to, TLS, HTTP/2.

mod pooling;
mod scene;
mod servers;
