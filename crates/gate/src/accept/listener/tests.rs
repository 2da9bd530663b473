//! Clients of many kinds come in: over clear text and TLS, from proxies, with tickets, with early
//! data.

mod crowd;
mod early;
mod proxies;
mod quic;
mod relay;
mod scene;
mod tls;
