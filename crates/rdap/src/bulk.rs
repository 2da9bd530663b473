//! Many queries: where they come from ([`list`]), in which order they are asked and answered
//! ([`desk`]), and how an interrupted run continues ([`journal`]). The desk does not know what a
//! lookup is.

pub mod desk;
pub mod journal;
pub mod list;
