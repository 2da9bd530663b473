//! The life of the process: start, reload, shutdown, and the threads that serve.
//!
//! [`run`] waits for signals and drives a [`Gate`]: it makes a `plan` from the configuration,
//! starts a `worker` on each thread, which opens its listeners through `accept`, and a
//! `maintenance` thread. A reload sends each worker a new plan.

mod contents;
mod free_memory;
mod gate;
mod maintenance;
mod notify;
pub(crate) mod plan;
mod signals;
mod worker;

pub use gate::{Addresses, Gate, News};
pub use signals::run;
