//! The protocols that clients speak. Each front reads heads, has them judged, and gives an exchange
//! its `Source` and `Sink`.

pub(crate) mod h1;
pub(crate) mod h2;
pub(crate) mod h3;
#[cfg(test)]
mod scene;
mod signal;
#[cfg(test)]
mod slow_bodies;
mod streams;
