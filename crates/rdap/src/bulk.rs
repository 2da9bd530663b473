//! Many queries: where they come from ([`list`]), in which order they are asked and answered
//! ([`scheduler`]), and how an interrupted run continues ([`journal`]). The scheduler does not know
//! what a lookup is.

pub mod journal;
pub mod list;
pub mod scheduler;
