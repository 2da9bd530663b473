//! Each cause with an exchange that has it and one that does not; healthy exchanges; and properties
//! of all exchanges.

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "../../../../tests/any_event.rs"]
mod any_event;
mod black_hole;
mod client;
mod connect;
mod detour;
mod early_data;
mod fast_open;
mod healthy;
mod http;
mod nagle;
mod name;
mod page;
mod pauses;
mod properties;
mod quic;
mod series;
mod story;
mod tls;
mod transfer;
mod uplink;
mod varying_paths;
mod world;
