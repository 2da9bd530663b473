//! Streams as a whole: two ends, and packets between them that a test delivers, loses and
//! acknowledges.

mod early;
mod fairness;
mod holes;
mod invariants;
mod limits;
mod many;
mod model;
mod peer;
mod states;
