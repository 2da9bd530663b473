//! The administrator's commands: check a configuration, manage sessions, make tokens.

pub mod check;
mod sessions;
mod token;

pub use sessions::{CredentialForm, Imported, Resealed, SessionInfo, SessionManager};
pub use token::{Token, TokenRequest, TokenTransport};
