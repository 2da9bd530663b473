//! The authenticating reverse proxy. A request passes through the modules from the top down, and
//! each imports only those below it:
//!
//! - `run`: the life of the process, its plan, its threads. `manage` holds the commands that do not
//!   serve.
//! - `admin`: metrics, dashboard and readiness, from what the threads record.
//! - `accept`: connections, and the fronts of HTTP/1.1, HTTP/2 and HTTP/3. It hands each head to
//!   `judge`, then runs `forward`.
//! - `forward`: carries a judged request to a backend, and the answer back.
//! - `judge`: refuses a request, answers it, or writes its head for the backend.
//! - `record`: counts and logs exchanges; plain values.
//! - `config`: the configuration as the file has it. `error`: errors about keys and secrets.
//!   `fair_queue`: turns by client.

mod accept;
mod admin;
pub mod config;
mod error;
mod fair_queue;
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
pub use judge::authenticator::Authenticator;
pub use judge::{credentials, guard, keyring, sessions};
pub use manage::check;
pub use roundtrip_tls::Secret;
pub use run::{Addresses, Gate, News, run};
