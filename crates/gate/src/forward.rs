//! Carries a judged request to a backend, and the answer back.
//!
//! A front makes an [`Exchange`](exchange::Exchange) and calls its `forward`, which takes these
//! steps:
//!
//! 1. `exchange::lease` reads the first part of a body ahead, or `exchange::buffered` all of it,
//!    and leases a connection from the [`Upstream`](upstream::Upstream) of the request's route: a
//!    kept one, a new one, or the next one that another exchange returns.
//! 2. `exchange` writes the head with the part of the body that was read (`writer`), and carries
//!    both bodies at once: `upload` from the front's `Source`, `download` to its `Sink`. After 101,
//!    `tunnel` does both.
//! 3. It returns the connection. `exchange::lease` says whether the request is sent once more, over
//!    another connection.
//!
//! In every phase an exchange ends when its client has gone, when its session has ended
//! (`judge::authenticator`), or when one of its `deadlines` passes. Connections of all protocols
//! are read and written as HTTP/1.1, by `h1`. `site` holds the configuration that a thread serves
//! at the moment.

pub(crate) mod deadlines;
pub(crate) mod exchange;
pub(crate) mod h1;
mod login_answer;
mod own_answer;
mod proxy_reply;
pub(crate) mod site;
pub(crate) mod split;
pub(crate) mod upstream;
