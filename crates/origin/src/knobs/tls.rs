//! The flags for TLS: what the server offers, presents and remembers.

use std::fmt;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(next_help_heading = "TLS")]
pub struct TlsKnobs {
    /// TLS versions over TCP (QUIC is always 1.3)
    #[arg(long = "tls", value_enum, default_value_t = TlsVersions::Both)]
    pub versions: TlsVersions,
    /// Key exchange groups, preferred first; a client that guesses none of them gets a
    /// `HelloRetryRequest`
    #[arg(long, value_enum, value_delimiter = ',', value_name = "GROUP")]
    pub groups: Vec<Group>,
    /// Protocols offered by ALPN over TCP, preferred first, or `none`
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "NAME",
        default_value = "h2,http/1.1"
    )]
    pub alpn: Vec<String>,
    /// The certificate that the server presents
    #[arg(long, value_enum, default_value_t = Certificate::Good)]
    pub certificate: Certificate,
    /// Another name or address in the certificate; may be repeated
    #[arg(long = "name", value_name = "NAME")]
    pub names: Vec<String>,
    /// Pad the certificate chain to this many bytes, to overflow the first flight
    #[arg(long, value_name = "BYTES", default_value_t = 0,
          value_parser = clap::value_parser!(u32).range(..=60_000))]
    pub chain_bytes: u32,
    /// Compress the certificate with zlib if the client can read it (RFC 8879)
    #[arg(long)]
    pub compress_certificate: bool,
    /// Staple this many meaningless bytes as the OCSP response
    #[arg(long, value_name = "BYTES", default_value_t = 0,
          value_parser = clap::value_parser!(u16).range(..=20_000))]
    pub staple: u16,
    /// Request a certificate from the client
    #[arg(long, value_enum, default_value_t = ClientCertificate::Off)]
    pub client_certificate: ClientCertificate,
    /// Session tickets
    #[arg(long, value_enum, default_value_t = Tickets::Stateful)]
    pub tickets: Tickets,
    /// Tickets sent after a TLS 1.3 handshake
    #[arg(long, value_name = "N", default_value_t = 2,
          value_parser = clap::value_parser!(u8).range(1..=16))]
    pub ticket_count: u8,
    /// Early data (0-RTT)
    #[arg(long, value_enum, default_value_t = EarlyData::Off)]
    pub early_data: EarlyData,
    /// Write the authority's certificate to this file, as PEM
    #[arg(long, value_name = "FILE")]
    pub ca_out: Option<PathBuf>,
    /// Write a client certificate and its key to this file, as PEM
    #[arg(long, value_name = "FILE")]
    pub client_out: Option<PathBuf>,
}

impl Default for TlsKnobs {
    fn default() -> Self {
        Self {
            versions: TlsVersions::Both,
            groups: Vec::new(),
            alpn: vec!["h2".to_owned(), "http/1.1".to_owned()],
            certificate: Certificate::Good,
            names: Vec::new(),
            chain_bytes: 0,
            compress_certificate: false,
            staple: 0,
            client_certificate: ClientCertificate::Off,
            tickets: Tickets::Stateful,
            ticket_count: 2,
            early_data: EarlyData::Off,
            ca_out: None,
            client_out: None,
        }
    }
}

impl TlsKnobs {
    /// The ALPN protocols over TCP; none at all if `none` is among them.
    pub fn protocols(&self) -> Vec<Vec<u8>> {
        if self.alpn.iter().any(|name| name == "none") {
            return Vec::new();
        }
        let names = self.alpn.iter().filter(|name| !name.is_empty());
        names.map(|name| name.clone().into_bytes()).collect()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TlsVersions {
    #[value(name = "1.2")]
    Tls12,
    #[value(name = "1.3")]
    Tls13,
    Both,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Group {
    X25519,
    Secp256r1,
    Secp384r1,
    #[value(name = "x25519mlkem768")]
    X25519MlKem768,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Certificate {
    /// Leaf and intermediate, valid for the loopback names
    Good,
    /// Expired yesterday
    Expired,
    /// Valid from tomorrow
    NotYet,
    /// Valid for another name only
    WrongName,
    /// Issued by an authority that is not in `--ca-out`
    UnknownIssuer,
    /// Signed by itself
    SelfSigned,
    /// The leaf without its intermediate
    MissingIntermediate,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ClientCertificate {
    Off,
    /// Requested, but optional
    Request,
    /// Without one, the handshake fails
    Require,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Tickets {
    /// The server remembers each session; early data needs this
    Stateful,
    /// Encrypted tickets that contain the session
    Stateless,
    /// Issued, but never accepted
    Refused,
    Off,
}

impl fmt::Display for Tickets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stateful => "stateful",
            Self::Stateless => "stateless",
            Self::Refused => "refused",
            Self::Off => "off",
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EarlyData {
    /// Tickets do not allow it
    Off,
    /// Accepted, and answered before the handshake ends
    On,
    /// Accepted by TLS, and answered with 425 Too Early (RFC 8470)
    #[value(name = "425")]
    TooEarly,
    /// Tickets allow it, but it is not accepted
    Refused,
}
