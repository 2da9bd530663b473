//! What each answer looks like and how long it takes.

use std::time::Duration;

use clap::{Args, ValueEnum};

use super::units::span;

#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(next_help_heading = "Answers")]
pub struct HttpKnobs {
    /// Wait before the first byte of each answer
    #[arg(long, value_name = "SPAN", default_value = "0", value_parser = span)]
    pub think: Duration,
    /// Size of the body at `/`; without it, `/` lists the routes
    #[arg(long, value_name = "BYTES")]
    pub body_bytes: Option<u64>,
    /// Send bodies slowly: one piece each SPAN
    #[arg(long, value_name = "SPAN", default_value = "0", value_parser = span)]
    pub body_every: Duration,
    /// Size of a slow body's pieces
    #[arg(long, value_name = "BYTES", default_value_t = 1024,
          value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub body_piece: u32,
    /// Pad the header section of each answer with this many bytes
    #[arg(long, value_name = "BYTES", default_value_t = 0,
          value_parser = clap::value_parser!(u32).range(..=1_048_576))]
    pub header_bytes: u32,
    /// HTTP/1.1 bodies without Content-Length, in chunks
    #[arg(long)]
    pub chunked: bool,
    /// Compress bodies of up to a mebibyte if the client accepts gzip
    #[arg(long)]
    pub gzip: bool,
    /// Send 103 Early Hints (RFC 8297) before each answer
    #[arg(long)]
    pub early_hints: bool,
    /// The answer to `Expect: 100-continue`
    #[arg(long, value_enum, default_value_t = Expect::Continue)]
    pub expect: Expect,
    /// End a connection after this many requests, announced (Connection: close, GOAWAY)
    #[arg(long, value_name = "N")]
    pub close_after: Option<u32>,
    /// Let `--close-after` end HTTP/1.1 connections unannounced
    #[arg(long)]
    pub silent_close: bool,
    /// Requests that a connection may have in progress at once (HTTP/2, HTTP/3)
    #[arg(long, value_name = "N", default_value_t = STREAMS,
          value_parser = clap::value_parser!(u32).range(1..=65_535))]
    pub streams: u32,
    /// End a connection that was idle for this long
    #[arg(long, value_name = "SPAN", default_value = "60s", value_parser = span)]
    pub keep_alive: Duration,
    /// Alt-Svc of answers over TLS; by default HTTP/3 on the same port, if it is served; `none`
    /// sends none
    #[arg(long, value_name = "VALUE")]
    pub alt_svc: Option<String>,
    /// Leave out Server-Timing, which states the time waited
    #[arg(long)]
    pub no_server_timing: bool,
    /// The credentials that `/auth` asks for
    #[arg(long, value_name = "USER:PASSWORD", default_value = "user:secret")]
    pub credentials: String,
    /// Largest request body that is kept (for `/echo`); others are read and dropped
    #[arg(long, value_name = "BYTES", default_value_t = 1_048_576)]
    pub max_body: u64,
}

const STREAMS: u32 = 256;

impl Default for HttpKnobs {
    fn default() -> Self {
        Self {
            think: Duration::ZERO,
            body_bytes: None,
            body_every: Duration::ZERO,
            body_piece: 1024,
            header_bytes: 0,
            chunked: false,
            gzip: false,
            early_hints: false,
            expect: Expect::Continue,
            close_after: None,
            silent_close: false,
            streams: STREAMS,
            keep_alive: Duration::from_mins(1),
            alt_svc: None,
            no_server_timing: false,
            credentials: "user:secret".to_owned(),
            max_body: 1_048_576,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Expect {
    /// 100 Continue, then the body is read
    Continue,
    /// Nothing: the client has to send without being asked
    Ignore,
    /// 417 Expectation Failed
    Refuse,
}
