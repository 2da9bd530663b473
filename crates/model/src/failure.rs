//! Why an exchange failed: a message that names the phase, what was tried, and what to do next.

use serde::Serialize;

use crate::PhaseName;

/// The kinds of failure that a program may want to distinguish; `as_str` is stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    NoSuchName,
    ResolverSilent,
    ResolverFailed,
    Refused,
    Unreachable,
    ConnectTimeout,
    Reset,
    Closed,
    ProxyFailed,
    TlsAlert,
    CertificateExpired,
    CertificateNotYetValid,
    CertificateWrongName,
    CertificateUnknownIssuer,
    CertificateInvalid,
    TlsFailed,
    AlpnRefused,
    QuicFailed,
    NotHttp,
    HeaderTooLarge,
    BodyCutShort,
    BodyInvalid,
    TooManyRedirects,
    BadRedirect,
    Timeout,
    StrategyUnavailable,
    Local,
    EchoMismatch,
    Interrupted,
}

impl FailureKind {
    fn curl_code(self) -> u8 {
        match self {
            Self::NoSuchName | Self::ResolverSilent | Self::ResolverFailed => 6,
            Self::Refused | Self::Unreachable => 7,
            Self::ConnectTimeout | Self::Timeout => 28,
            Self::Reset | Self::ProxyFailed => 56,
            Self::Closed => 52,
            Self::TlsAlert | Self::TlsFailed | Self::AlpnRefused => 35,
            Self::CertificateExpired
            | Self::CertificateNotYetValid
            | Self::CertificateWrongName
            | Self::CertificateUnknownIssuer
            | Self::CertificateInvalid => 60,
            Self::QuicFailed => 96,
            Self::NotHttp | Self::EchoMismatch => 1,
            Self::HeaderTooLarge => 100,
            Self::BodyCutShort => 18,
            Self::BodyInvalid => 61,
            Self::TooManyRedirects => 47,
            Self::BadRedirect => 3,
            Self::StrategyUnavailable => 4,
            Self::Local => 43,
            Self::Interrupted => 42,
        }
    }
}

/// One failure, ready to be shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Failure {
    pub kind: FailureKind,
    pub phase: PhaseName,
    /// The attempt and its result, in one sentence.
    pub message: String,
    /// Advice on what to do next.
    pub advice: String,
}

impl Failure {
    /// curl's exit code for the same failure, for `%{exitcode}`.
    pub fn curl_code(&self) -> u8 {
        match (self.kind, self.phase) {
            // curl reports any failure during a handshake as a failed handshake.
            (FailureKind::Reset | FailureKind::Closed, PhaseName::Tls) => 35,
            (kind, _) => kind.curl_code(),
        }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.phase.title(), self.message)?;
        if !self.advice.is_empty() {
            write!(f, "\n  try: {}", self.advice)?;
        }
        Ok(())
    }
}
