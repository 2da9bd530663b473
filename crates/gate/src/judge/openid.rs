//! Carries out what logins need from the OpenID provider and from the store: OpenID Connect Core
//! §3.1 (code flow) with PKCE (RFC 7636).
//!
//! A front gives a [`LoginOrder`](super::login::LoginOrder) to the [`LoginHandle`], and a `service`
//! on its own thread carries it out:
//!
//! - begin: `state` remembers in a sealed cookie what was asked, and the browser goes to the
//!   `provider`;
//! - callback: the code is exchanged for tokens, `id_token` is verified, and the session is stored
//!   under a new name as a sealed [`LoginDocument`](super::login::LoginDocument);
//! - refresh: one of all replicas renews the tokens (`refresh`);
//! - logout: by the person, or by the provider (`logout_token`), which ends the sessions that the
//!   store's index has; the store's pushes then reach every replica.

mod callback;
mod error;
mod handle;
mod id_token;
mod logout;
mod logout_token;
mod provider;
mod refresh;
mod service;
mod state;
mod turns;

pub(crate) use error::LoginError;
pub(crate) use handle::{LoginCounts, LoginHandle, RefreshOutcome};
pub(crate) use provider::OpenIdProvider;
