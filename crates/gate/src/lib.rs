//! The authenticating reverse proxy. A request goes through the modules from the top down, and each
//! imports only those that stand below it:
//!
//! - `run`: the life of the process, its plan, its threads. `manage` is what is done beside
//!   serving.
//! - `admin`: metrics, dashboard and readiness, from what the threads record.
//! - `accept`: connections and the fronts of HTTP/1.1, HTTP/2 and HTTP/3. Hands each head to
//!   `judge`, then runs `forward`.
//! - `forward`: carries a judged request to a backend, and the answer back.
//! - `judge`: refuses a request, answers it, or says how the backend is to have it.
//! - `record`: what is remembered of an exchange, counted and logged: plain values.
//! - `config`: the configuration as its file has it. `error`: why something cannot be used.

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
