//! The examination through the public API of the crate.

mod machine;
