//! The flags of `gate`. None of them takes a secret: every user of the machine can see command
//! lines.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::{Args, Subcommand};
use roundtrip_model::parse_duration;
use roundtrip_rdap::answer::Date;

use super::{Color, OtlpArgs, ServerLogArgs};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  roundtrip gate run                               loopback: try it with a backend on port 8000
  roundtrip gate session put alice                 asks for the user:password that alice stands for
  curl -H \"$(roundtrip gate token --sub alice --sid alice --bearer)\" http://127.0.0.1:8080/
  roundtrip gate init -o gate.toml                 a file with every setting, explained
  roundtrip gate check --config gate.toml          what is wrong with it, before it matters
  roundtrip gate run --config gate.toml            SIGHUP reloads it; SIGTERM ends gracefully

Exit codes: 0 done, 1 failed or something is wrong, 2 wrong usage.")]
pub(crate) struct GateArgs {
    #[command(subcommand)]
    pub command: GateCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GateCommand {
    /// Serve, until SIGTERM or Ctrl-C
    Run(GateRunArgs),
    /// Answer other proxies (nginx, Envoy, Caddy, Traefik, HAProxy) that ask whether a request may
    /// pass, and serve no clients
    Authz(GateAuthzArgs),
    /// Report every error in a configuration, without starting anything
    Check(GateCheckArgs),
    /// Write a configuration with every setting at its default, explained
    Init {
        /// Write to this file, which must not exist yet, instead of standard output
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Sessions: what a token stands for at the backend
    Session(GateSessionArgs),
    /// Make a test token, signed with a secret of the configuration
    Token(GateTokenArgs),
}

#[derive(Debug, Args)]
pub(crate) struct GateConfigArgs {
    /// The configuration; without it everything is on loopback, and sessions and keys are in
    /// ~/.local/state/roundtrip/gate, where they are made when they are first needed
    #[arg(short, long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  roundtrip gate run --backend http://127.0.0.1:3000
  roundtrip gate run --http 127.0.0.1:8081 --https 127.0.0.1:8444 --admin none
  roundtrip gate run --config /etc/roundtrip/gate.toml

Exit codes: 0 ended as asked, 1 it could not start or serve, 2 wrong usage.")]
pub(crate) struct GateRunArgs {
    #[command(flatten)]
    pub from: GateConfigArgs,
    /// Where to listen for clear text, or `none` [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS", conflicts_with = "config")]
    pub http: Option<ListenAddress>,
    /// Where to listen for TLS and QUIC, or `none` [default: 127.0.0.1:8443]
    #[arg(long, value_name = "ADDRESS", conflicts_with = "config")]
    pub https: Option<ListenAddress>,
    /// Where to serve metrics and dashboard, or `none` [default: 127.0.0.1:9180]
    #[arg(long, value_name = "ADDRESS", conflicts_with = "config")]
    pub admin: Option<ListenAddress>,
    /// The backend [default: http://127.0.0.1:8000]
    #[arg(long, value_name = "URL", conflicts_with = "config")]
    pub backend: Option<String>,
    /// Do not report what it does
    #[arg(short, long)]
    pub quiet: bool,
    #[command(flatten)]
    pub logs: ServerLogArgs,
    #[command(flatten)]
    pub otlp: OtlpArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  roundtrip gate authz                             on loopback: HTTP at port 9190, gRPC at 9191
  roundtrip gate authz --config /etc/roundtrip/gate.toml
  curl -i -H 'X-Original-Method: GET' -H 'X-Original-URL: https://site.example/' \\
    http://127.0.0.1:9190/original

The table [authz] holds its addresses and says who may ask; routes need no upstream here.
`roundtrip gate run` with that table answers proxies and clients in one process.

Exit codes: 0 ended as asked, 1 it could not start or serve, 2 wrong usage.")]
pub(crate) struct GateAuthzArgs {
    #[command(flatten)]
    pub from: GateConfigArgs,
    /// Do not report what it does
    #[arg(short, long)]
    pub quiet: bool,
    #[command(flatten)]
    pub logs: ServerLogArgs,
}

/// An address to listen at, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ListenAddress(pub Option<SocketAddr>);

impl FromStr for ListenAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "none" {
            return Ok(Self(None));
        }
        let address = text.parse();
        let address =
            address.map_err(|_| "an address with its port, as in 127.0.0.1:8080, or none");
        Ok(Self(Some(address?)))
    }
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  roundtrip gate check --config gate.toml
  roundtrip gate check --config gate.toml --connect --json

Exit codes: 0 gate would start (there may be warnings), 1 it would not, 2 wrong usage.")]
pub(crate) struct GateCheckArgs {
    #[command(flatten)]
    pub from: GateConfigArgs,
    /// Also check that the session store and each server answer
    #[arg(long)]
    pub connect: bool,
    /// One JSON document (schema roundtrip/gate-check/1)
    #[arg(long)]
    pub json: bool,
    /// No report, only the exit code
    #[arg(short, long, conflicts_with = "json")]
    pub quiet: bool,
    /// Colour
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    pub color: Color,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  roundtrip gate session put alice                             asks for user:password, without echo
  roundtrip gate session put alice --credentials-file login --expires 8h
  pass show mail | roundtrip gate session put alice --config gate.toml
  roundtrip gate session list --json
  roundtrip gate session revoke alice                          its open streams end, too

Exit codes: 0 done, 1 failed, or there is no such session; 2 wrong usage.")]
pub(crate) struct GateSessionArgs {
    #[command(subcommand)]
    pub command: SessionCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionCommand {
    /// Add or change a session; its credentials are sealed if there is a key
    Put(SessionPutArgs),
    /// Show a session, but not its password
    Show {
        #[command(flatten)]
        from: GateConfigArgs,
        /// The session
        #[arg(value_name = "SID")]
        sid: String,
        /// Also show the user
        #[arg(long)]
        reveal_user: bool,
        /// One JSON document
        #[arg(long)]
        json: bool,
    },
    /// List the names of all sessions
    List {
        #[command(flatten)]
        from: GateConfigArgs,
        /// One JSON document
        #[arg(long)]
        json: bool,
    },
    /// Revoke a session: it is refused from then on, and its open streams end
    Revoke {
        #[command(flatten)]
        from: GateConfigArgs,
        /// The session
        #[arg(value_name = "SID")]
        sid: String,
    },
    /// Add many: a file with one JSON object per line, {"sid": …, "credentials": BASE64, "expires":
    /// SECONDS}
    Import {
        #[command(flatten)]
        from: GateConfigArgs,
        /// `-` is standard input
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Seal, with the first key, all credentials that are plain or sealed with an older key
    Seal {
        #[command(flatten)]
        from: GateConfigArgs,
    },
}

#[derive(Debug, Args)]
pub(crate) struct SessionPutArgs {
    #[command(flatten)]
    pub from: GateConfigArgs,
    /// Its name in tokens (sid)
    #[arg(value_name = "SID")]
    pub sid: String,
    /// Read user:password from this file, which only its owner may read; `-` or no flag: standard
    /// input
    #[arg(long, value_name = "FILE", conflicts_with = "credentials_env")]
    pub credentials_file: Option<PathBuf>,
    /// Read user:password from this environment variable
    #[arg(long, value_name = "NAME")]
    pub credentials_env: Option<String>,
    /// When it expires: in 8h or 7d, or a date such as 2030-01-31T12:00:00Z; default: never
    #[arg(long, value_name = "TIME")]
    pub expires: Option<End>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  roundtrip gate token --sub alice --sid alice
  curl -H \"$(roundtrip gate token --sub alice --sid alice --cookie)\" http://127.0.0.1:8080/

Exit codes: 0 done, 1 there is no secret to sign with, 2 wrong usage.")]
pub(crate) struct GateTokenArgs {
    #[command(flatten)]
    pub from: GateConfigArgs,
    /// The subject
    #[arg(long, value_name = "NAME")]
    pub sub: String,
    /// The session it stands for
    #[arg(long, value_name = "SID")]
    pub sid: String,
    /// When it expires: in 30min or 8h, or a date such as 2030-01-31T12:00:00Z
    #[arg(long, value_name = "TIME", default_value = "1h")]
    pub expires: End,
    /// The id of the signing key, if there are several
    #[arg(long, value_name = "ID")]
    pub key: Option<String>,
    /// Print a complete Cookie field
    #[arg(long, conflicts_with = "bearer")]
    pub cookie: bool,
    /// Print a complete Authorization field
    #[arg(long)]
    pub bearer: bool,
}

/// When something ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    In(Duration),
    At(SystemTime),
}

impl End {
    /// The time of the end; `None` if the clock cannot represent it.
    pub(crate) fn after(self, now: SystemTime) -> Option<SystemTime> {
        match self {
            Self::In(time) => now.checked_add(time),
            Self::At(time) => Some(time),
        }
    }
}

impl FromStr for End {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(date) = Date::parse(text) {
            let seconds = u64::try_from(date.seconds).map_err(|_| "a date after 1970")?;
            let at = UNIX_EPOCH.checked_add(Duration::from_secs(seconds));
            return at.map(Self::At).ok_or_else(|| "a nearer date".into());
        }
        match parse_duration(text) {
            Ok(time) if !time.is_zero() => Ok(Self::In(time)),
            _ => Err(
                "a time from now as in 8h, up to 41d, or a date as in 2030-01-31T12:00:00Z".into(),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        gate: GateArgs,
    }

    fn parse(line: &str) -> Result<GateCommand, clap::Error> {
        let words = std::iter::once("gate").chain(line.split_whitespace());
        Line::try_parse_from(words).map(|line| line.gate.command)
    }

    #[test]
    fn ends_are_dates_or_times_from_now() {
        let at = |seconds| Ok(End::At(UNIX_EPOCH + Duration::from_secs(seconds)));
        for (text, end) in [
            ("8h", Ok(End::In(Duration::from_hours(8)))),
            ("2030-01-01", at(1_893_456_000)),
            ("2030-01-01T01:00:00+01:00", at(1_893_456_000)),
        ] {
            assert_eq!(text.parse::<End>(), end, "{text}");
        }
        for text in ["", "0s", "8", "-1h", "1001d", "1969-12-31", "tomorrow"] {
            assert!(text.parse::<End>().is_err(), "{text}");
        }
        let now = UNIX_EPOCH + Duration::from_mins(1);
        let end = End::In(Duration::from_secs(1)).after(now);
        assert_eq!(end, Some(UNIX_EPOCH + Duration::from_secs(61)));
    }

    #[test]
    fn a_file_says_all_or_flags_do() {
        for good in [
            "run",
            "run --http none --https [::1]:8443 --backend http://h --admin none",
            "run -c f -q",
            "authz",
            "authz -c f -q",
            "check --connect --json",
            "init -o f",
            "session put a --expires 8h -c f",
            "session put a --credentials-file -",
            "session show a --reveal-user",
            "session import -",
            "token --sub a --sid b --bearer",
        ] {
            assert!(parse(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "run -c f --http 127.0.0.1:80",
            "run --http 8080",
            "authz --backend http://h",
            "check --json -q",
            "session put",
            "session put a user:password",
            "session put a --credentials-file f --credentials-env E",
            "token --sid b",
            "token --sub a --sid b --cookie --bearer",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
