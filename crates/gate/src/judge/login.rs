//! Logins by a browser, as requests and sessions show them.
//!
//! [`LoginRules`] says what a request without a session gets, and which requests gate answers
//! itself: at once ([`LoginReply`]), or after the service has done something ([`LoginOrder`],
//! carried out by `openid`). The guard admits the sessions that are stored ([`LoginDocument`]) like
//! those of tokens ([`ActiveLogin`]), and routes require claims of them ([`ClaimRules`]).

mod active;
mod claim_rules;
pub(crate) mod document;
mod order;
mod reply;
mod return_path;
mod rules;

pub(crate) use active::{ActiveLogin, LOGIN_NAMES, authorization};
pub(crate) use claim_rules::ClaimRules;
pub(crate) use document::{LoginDocument, session_name};
pub(crate) use order::{LoginOrder, LoginRequest, MAX_FORM};
pub(crate) use reply::{LoginPage, LoginReply, remove_cookie, set_cookie};
pub(crate) use return_path::ReturnPath;
pub(crate) use rules::{LoginAnswer, LoginRules, state_cookies};
