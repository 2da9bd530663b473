//! The examination through the public face of the crate.

mod machine;
