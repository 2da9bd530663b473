//! Carries a judged request to a backend, and the answer back.
//!
//! A front makes an [`Exchange`](exchange::Exchange) and calls its `forward`, which goes this way:
//!
//! 1. `exchange::lease` reads the first part of a body ahead and leases a link from the
//!    [`Upstream`](upstream::Upstream) of the request's route: kept, new, or the next that others
//!    give back.
//! 2. `exchange` writes the head, with what of the body is there, and carries both bodies at once:
//!    `upload` from the front's `Source`, `download` to its `Sink`; after 101 `tunnel` does both.
//! 3. It gives the link back. `exchange::lease` says whether the request goes out once more, over
//!    another link.
//!
//! In every phase an exchange ends when its client is gone, when its session is over
//! (`judge::door`), or when one of its `deadlines` is. Connections of all protocols are read and
//! written as HTTP/1.1, by `h1`. What a thread serves by at this moment is its `site`.

pub(crate) mod deadlines;
pub(crate) mod exchange;
pub(crate) mod h1;
pub(crate) mod halves;
mod own_answer;
pub(crate) mod site;
pub(crate) mod upstream;
