//! Streams as a whole.
