//! The authenticating reverse proxy: `guard` says who passes, `credentials` what a session is worth, `front` speaks with
//! clients, `exchange` carries, `upstream` keeps the connections to those who answer.

mod accept;
mod admin;
pub mod config;
mod error;
mod forward;
#[doc(hidden)]
pub mod fuzzing;
mod judge;
pub mod manage;
#[doc(hidden)]
pub mod measuring;
mod record;
mod run;

pub use error::GateError;
pub use judge::door::Door;
pub use judge::{credentials, guard, keyring, sessions};
pub use manage::check;
pub use roundtrip_tls::Secret;
pub use run::{Addresses, Gate, News, run};
