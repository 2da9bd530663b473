//! Upstreams: who gets which connection, what servers' faults lead to, TLS, HTTP/2.

mod authority;
mod fast_open;
mod pooling;
mod scene;
mod secure;
mod servers;
mod streams;
mod through;
