//! Upstreams: how connections are assigned, what happens when servers fail, TLS, HTTP/2.

mod authority;
mod fast_open;
mod pooling;
mod raw;
mod refused;
mod scene;
mod secure;
mod servers;
mod sharing;
mod streams;
mod surplus;
mod through;
