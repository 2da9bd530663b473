//! Repeated requests and their output: live lines, summaries, JSON, pages, limits, interruptions.

mod count;
mod counted;
mod every;
mod limits;
mod output;
mod pipeline;
mod provenance;
mod terminal;
