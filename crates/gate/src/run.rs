//! The life of the process: start, reload, end, and the threads that serve.

mod gate;
mod maintenance;
mod notify;
pub(crate) mod plan;
mod signals;
mod worker;

pub use gate::{Addresses, Gate, News};
pub use signals::run;
