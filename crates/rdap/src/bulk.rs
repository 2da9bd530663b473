//! Many queries: where they come from, in which order they are told, and how an interrupted run goes on.

pub mod journal;
