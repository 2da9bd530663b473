//! Repeated requests and their output: live lines, summaries, JSON, pages, limits, interruptions.

mod count;
mod limits;
mod output;
mod provenance;
mod terminal;
