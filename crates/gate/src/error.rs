//! Why keys and secrets cannot be used. No message repeats any of them.

use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum GateError {
    #[error("cannot read {}: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("others than its owner may read {}: it holds a secret; run 'chmod 600' on it", path.display())]
    Exposed { path: PathBuf },
    #[error("{} is larger than {limit} bytes: that is no key", path.display())]
    FileTooLarge { path: PathBuf, limit: usize },
    #[error("the environment has no variable '{0}', or an empty one")]
    NoVariable(String),
    #[error("the key '{name}' cannot be used: {why}")]
    Key { name: String, why: &'static str },
    #[error("{what} holds no key that can be used: {why}")]
    NoKey { what: String, why: &'static str },
    #[error("more than {0} keys: old ones have to go")]
    TooManyKeys(usize),
    #[error("there is no key to seal with")]
    NoSealingKey,
    #[error("credentials are 'user:password', in UTF-8 and without control characters")]
    NotALogin,
    #[error("the route '{route}' leads to the upstream '{upstream}', which there is not")]
    NoUpstream { route: String, upstream: String },
    #[error("the cryptographic library refuses to work")]
    Cryptography,
}
