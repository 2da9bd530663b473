//! What an administrator does beside serving: check a configuration, keep sessions, make tokens.

pub mod check;
mod sessions;
mod token;

pub use sessions::{Form, Imported, Keeper, Resealed, Shown};
pub use token::{Token, TokenOrder, Worn};
