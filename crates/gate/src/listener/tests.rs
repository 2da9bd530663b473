//! Clients of many kinds come in: over clear text and TLS, from proxies, with tickets, with early data.

mod proxies;
mod scene;
mod tls;
