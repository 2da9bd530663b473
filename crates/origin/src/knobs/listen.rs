//! The flags for addresses, ports and sockets.

use std::net::{IpAddr, Ipv4Addr};

use clap::{Args, ValueEnum};

#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(next_help_heading = "Listening")]
pub struct ListenKnobs {
    /// Listen on this address; may be repeated, the ports are the same on each
    #[arg(long, value_name = "IP", default_value = "127.0.0.1")]
    pub bind: Vec<IpAddr>,
    /// Port for clear text; 0 takes a free one
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub http_port: u16,
    /// Port for TLS over TCP and for QUIC; 0 takes a free one
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub https_port: u16,
    /// Also serve the echo, which sends every byte back, on this port
    #[arg(long, value_name = "PORT")]
    pub echo_port: Option<u16>,
    /// Accept TCP fast open (RFC 7413) with a queue of this length; 0 is off
    #[arg(long, value_name = "QUEUE", default_value_t = 0,
          value_parser = clap::value_parser!(u32).range(..=65_535))]
    pub fast_open: u32,
    /// Connections that the kernel may hold before they are accepted
    #[arg(long, value_name = "N", default_value_t = 1024,
          value_parser = clap::value_parser!(u32).range(1..=65_535))]
    pub backlog: u32,
    /// Connections served at the same time; others wait
    #[arg(long, value_name = "N", default_value_t = 4096,
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub max_connections: u32,
    /// HTTP/3: served, absent, or a port that never answers (as if UDP were dropped)
    #[arg(long, value_enum, default_value_t = Quic::On)]
    pub h3: Quic,
    /// Which engine carries QUIC: our own, which speaks hq-interop (HTTP/0.9 over QUIC) beside h3,
    /// or quinn
    #[arg(long, value_enum, default_value_t = QuicEngine::Own)]
    pub quic_engine: QuicEngine,
    /// Answer the first QUIC Initial with a Retry (RFC 9000, section 8.1.2)
    #[arg(long)]
    pub quic_retry: bool,
    /// Address tokens for a client's next QUIC connections (RFC 9000, section 8.1.3); 0 is none
    #[arg(long, value_name = "N", default_value_t = TOKENS,
          value_parser = clap::value_parser!(u32).range(..=16))]
    pub quic_tokens: u32,
}

/// One for each of two connections at the same time.
const TOKENS: u32 = 2;

impl Default for ListenKnobs {
    fn default() -> Self {
        Self {
            bind: vec![IpAddr::V4(Ipv4Addr::LOCALHOST)],
            http_port: 0,
            https_port: 0,
            echo_port: None,
            fast_open: 0,
            backlog: 1024,
            max_connections: 4096,
            h3: Quic::On,
            quic_engine: QuicEngine::Own,
            quic_retry: false,
            quic_tokens: TOKENS,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Quic {
    On,
    Off,
    Silent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum QuicEngine {
    Own,
    Quinn,
}

/// The echo alone: no HTTP, no TLS.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct EchoKnobs {
    /// Listen on this address
    #[arg(long, value_name = "IP", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    pub bind: IpAddr,
    /// Port; 0 takes a free one
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub port: u16,
    /// Accept TCP fast open with a queue of this length; 0 is off
    #[arg(long, value_name = "QUEUE", default_value_t = 256,
          value_parser = clap::value_parser!(u32).range(..=65_535))]
    pub fast_open: u32,
}

impl Default for EchoKnobs {
    fn default() -> Self {
        Self {
            bind: IpAddr::V4(Ipv4Addr::LOCALHOST),
            port: 0,
            fast_open: 256,
        }
    }
}
