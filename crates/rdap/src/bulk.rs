//! Many queries: their sources ([`list`]), the order in which they are sent and answered
//! ([`scheduler`]), and the continuation of an interrupted run ([`journal`]). The scheduler is
//! independent of how a lookup works.

pub mod journal;
pub mod list;
pub mod scheduler;
