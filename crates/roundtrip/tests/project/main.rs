//! What holds for the whole project: layers, sources, and the text of every `--help`.

#![allow(clippy::unwrap_used, clippy::panic)]

mod help;
mod layers;
#[path = "../../../../tests/skip.rs"]
mod skip;
mod sources;
