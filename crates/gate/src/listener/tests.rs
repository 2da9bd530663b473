//! Clients of many kinds come in: over clear text and TLS, from proxies, with tickets, with early data.

mod early;
mod proxies;
mod quic;
mod scene;
mod tls;
