//! IP packets: read, rewritten with right checksums, answered, cut.
#![allow(clippy::unwrap_used, clippy::panic)] // what a test's helper expects is expected of the code

mod answering;
mod arbitrary;
mod cutting;
mod reading;
mod rewriting;
