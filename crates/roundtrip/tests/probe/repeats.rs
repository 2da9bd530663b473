//! Asking again and again, and what comes out: live lines, summaries, JSON, pages, limits,
//! interruptions.

mod count;
mod limits;
mod output;
mod provenance;
mod terminal;
