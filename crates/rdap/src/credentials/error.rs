//! Errors about credentials. No message contains any part of them.

#[derive(Debug, thiserror::Error)]
pub enum CredentialsError {
    #[error("the user or the password contains a control character, which no request can carry")]
    Controls,
    #[error("the user contains a colon, which would end it (RFC 7617)")]
    Colon,
    #[error("the credentials are not of the form user:password")]
    NoColon,
    #[error("the credentials are longer than {limit} bytes")]
    TooLong { limit: usize },
    #[error("user and password of the URL do not percent-decode to UTF-8")]
    Encoding,
    #[error("{0}")]
    Unread(#[from] roundtrip_tls::SecretError),
    #[error(
        "{origin} asks for Basic, which over http shows the password to everyone on the path; ask over https"
    )]
    Plain { origin: String },
    #[error("{origin} refused this user and password")]
    Refused { origin: String },
    #[error("{origin} asks for {offered}; supported are Basic, and Digest with SHA-256 or SHA-512-256 and qop=auth{}{reasons}", if .reasons.is_empty() { "" } else { ": " })]
    Unsupported {
        origin: String,
        offered: String,
        reasons: String,
    },
    #[error("the system provides no random bytes for a nonce")]
    NoRandom,
}
