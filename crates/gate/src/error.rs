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
    // The configuration.
    #[error("{name}:{line}:{column}: {why}")]
    Config {
        name: String,
        line: usize,
        column: usize,
        why: String,
    },
    #[error(
        "'{0}' is no algorithm for tokens; there are HS256, HS384 and HS512, the same of RS, PS and ES, and EdDSA"
    )]
    Algorithm(String),
    #[error("neither XDG_STATE_HOME nor HOME says where state goes; give a file with --config")]
    NoHome,
    #[error("cannot make {}: {source}", path.display())]
    Unwritable { path: PathBuf, source: io::Error },
    // Sessions.
    #[error("{0}")]
    Store(#[from] roundtrip_store::StoreError),
    #[error(
        "'{0}' is no place for sessions; it is 'memory:', 'redb:/path/of/a/file', 'redis://host:6379/0', 'rediss://…' or 'unix:/path'"
    )]
    StoreAddress(String),
}
