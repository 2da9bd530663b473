//! Many queries: where they come from ([`list`]), in which order they are asked and told ([`desk`]), and how an interrupted
//! run goes on ([`journal`]). What a lookup is, the desk does not know.

pub mod desk;
pub mod journal;
pub mod list;
