//! Clients of many kinds: clear text and TLS, from proxies, with tickets, with early data.

mod early;
mod proxies;
mod quic;
mod quic_clients;
mod relay;
mod scene;
mod tls;
