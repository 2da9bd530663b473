//! IP packets: read, rewritten with right checksums, answered, cut.

mod answering;
mod arbitrary;
mod cutting;
mod reading;
mod rewriting;
