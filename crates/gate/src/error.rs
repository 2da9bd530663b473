//! The errors of gate's public interface. No message contains a key or a secret.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use roundtrip_fetch::pool::PoolError;
use roundtrip_model::TargetError;
use roundtrip_tls::TlsError;

#[derive(Debug, thiserror::Error)]
pub enum GateError {
    #[error(transparent)]
    Otlp(#[from] roundtrip_otlp::OtlpError),
    #[error("cannot read {}: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{} is larger than {limit} bytes, too large for a key", path.display())]
    FileTooLarge { path: PathBuf, limit: usize },
    #[error(transparent)]
    Secret(#[from] roundtrip_tls::SecretError),
    #[error("the key '{name}' cannot be used: {why}")]
    Key { name: String, why: &'static str },
    #[error("{what} has no usable key: {why}")]
    NoKey { what: String, why: &'static str },
    #[error("more than {0} keys; remove old ones")]
    TooManyKeys(usize),
    #[error("there is no key to seal with")]
    NoSealingKey,
    #[error("credentials must be 'user:password', in UTF-8 and without control characters")]
    NotALogin,
    #[error("the route '{route}' leads to the upstream '{upstream}', which does not exist")]
    NoUpstream { route: String, upstream: String },
    #[error("the route '{route}' cannot be served: {why}")]
    Route { route: String, why: String },
    #[error("the cryptographic library failed")]
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
        "'{0}' is not an algorithm for tokens; use HS256, HS384, HS512, the same with RS, PS or ES, or EdDSA"
    )]
    Algorithm(String),
    #[error(
        "neither XDG_STATE_HOME nor HOME is set, so there is no directory for state; give a file with --config"
    )]
    NoHome,
    #[error("cannot make {}: {source}", path.display())]
    Unwritable { path: PathBuf, source: io::Error },

    // The life of a gate.
    #[error("a thread cannot be started: {0}")]
    Thread(#[source] io::Error),
    #[error("{0} has changed, which needs a restart; nothing was changed")]
    NeedsRestart(&'static str),

    // The listener.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        address: SocketAddr,
        source: io::Error,
    },
    #[error("a socket of the service manager cannot be used: {0}")]
    Inherited(#[from] roundtrip_net::InheritError),
    #[error(
        "the service manager passed a socket for {address} ({}), which the configuration does not use",
        if *udp { "UDP" } else { "TCP" }
    )]
    UnusedSocket { address: SocketAddr, udp: bool },
    #[error("the certificate in {} cannot be used: {why}", path.display())]
    Certificate { path: PathBuf, why: String },
    #[error("no certificate could be made: {0}")]
    SelfMade(String),
    #[error("early data needs single-use sessions: set tls.resumption = \"single-use\"")]
    EarlyDataNeedsSingleUse,

    // Sessions.
    #[error(transparent)]
    Store(#[from] roundtrip_store::StoreError),

    // A set of keys at a URL.
    #[error("the JWK Set at {url}: {source}")]
    Fetch {
        url: String,
        source: Box<FetchError>,
    },

    #[error("[login] cannot be used: {0}")]
    Login(String),
    #[error("[acme] cannot be used: {0}")]
    Acme(String),

    // Upstreams.
    #[error("upstream '{upstream}': the server '{server}' cannot be used: {why}")]
    Server {
        upstream: String,
        server: String,
        why: &'static str,
    },
    #[error("upstream '{upstream}': its servers' certificates cannot be verified: {source}")]
    UpstreamTrust { upstream: String, source: TlsError },
    // The access log.
    #[error("cannot write the access log to {}: {source}", path.display())]
    Unlogged { path: PathBuf, source: io::Error },
    #[error("cannot start the access log's thread: {0}")]
    NoThread(io::Error),

    // Sessions that are managed by hand.
    #[error(
        "a session's name must have 1 to {} bytes and no control characters",
        roundtrip_store::MAX_SID
    )]
    SessionName,
    #[error("it has expired")]
    Past,
    #[error(
        "it is not {{\"sid\": …, \"credentials\": base64 of user:password, \"expires\": seconds since 1970, optional}}: {0}"
    )]
    Line(String),
    #[error("it has more than {0} bytes")]
    LongLine(usize),
    #[error("{0}")]
    CredentialsError(#[from] CredentialsError),
    #[error(
        "there is no key to seal with, and plain credentials are not accepted; add a [[session.seal]] key, or set plain = true"
    )]
    NothingStorable,
    #[error(
        "sessions in memory exist only in the process that serves; use another [session] store, such as 'redb:/path/of/a/file'"
    )]
    OnlyInMemory,
    #[error("the input cannot be read: {0}")]
    Input(#[source] io::Error),
    #[error(
        "no key of the configuration can sign tokens{0}; add a [[token.key]] with HS256, HS384 or HS512 and a secret"
    )]
    NoSigningKey(String),
}

/// Why stored credentials cannot be used: the answer is 500.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CredentialsError {
    #[error("the stored credentials are malformed")]
    Malformed,
    #[error("the stored credentials are sealed with an unknown key")]
    NoSuchKey,
    #[error(
        "the stored credentials cannot be opened: they are for another key or session, or damaged"
    )]
    Closed,
    #[error("the stored credentials are not sealed, and only sealed ones are accepted")]
    Plain,
    #[error("the stored credentials are not 'user:password'")]
    NotALogin,
}

/// Why a JWK Set cannot be fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error("{0}")]
    Url(#[from] TargetError),
    #[error(
        "over http, anyone on the path could replace the keys; use https, or an address on this machine"
    )]
    Clear,
    #[error("a user and a password in the URL are not sent; remove them")]
    Userinfo,
    #[error("{0}")]
    Tls(#[from] TlsError),
    #[error("{}", .0.kind)]
    Pool(#[from] PoolError),
    #[error("it answers with status {0} instead of 200")]
    Status(u16),
    #[error("it was not received within {0:?}")]
    TimedOut(Duration),
}
