//! The flags of `probe`: curl's names if curl has the function, else httping's, else our own.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use roundtrip_model::{Limit, Strategy, parse_duration};
use roundtrip_net::Bind;
use roundtrip_probe::{ConnectTo, Override, Proxy};

use super::{Color, OtlpArgs, QlogArgs};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  roundtrip probe https://example.com                 one request, explained
  roundtrip probe -c 10 -i 0.2 https://example.com    ten of them, with percentiles
  roundtrip probe --strategy h1+tls1.3+0rtt URL       early data, primed by one unmeasured request
  roundtrip probe -w @curl-format.txt -o /dev/null URL  curl's own report
  roundtrip probe --fail-if 'round_trips > 3' URL     exit code 3 when it takes more
  roundtrip probe --baseline counts.json URL          exit code 3 when it takes more than it did
  roundtrip probe --every 1m --store FILE URL         again and again, for `roundtrip history FILE`
  roundtrip probe tcp://HOST:PORT --fast-open         the fast-open echo (`roundtrip origin echo`)")]
pub(crate) struct ProbeArgs {
    /// What to ask for: http://, https://, or tcp://HOST:PORT for the echo
    #[arg(required_unless_present = "url", value_name = "URL")]
    pub urls: Vec<String>,

    #[command(flatten)]
    pub way: WayArgs,
    #[command(flatten)]
    pub request: RequestArgs,
    #[command(flatten)]
    pub connection: ConnectionArgs,
    #[command(flatten)]
    pub repeat: RepeatArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub otlp: OtlpArgs,
    #[command(flatten)]
    pub ignored: IgnoredArgs,
    /// The same as URL; a pasted command may also begin with the word curl
    #[arg(long, value_name = "URL", help_heading = "The request, as with curl")]
    pub url: Vec<String>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "How to get there")]
pub(crate) struct WayArgs {
    /// How to reach the server, in one word: h1+tls1.2, h2+tls1.3+resume, h1+tls1.3+tfo+0rtt,
    /// h3+0rtt, …+reuse, …-pq
    #[arg(long, value_name = "WORD", conflicts_with_all = ["http1", "http2", "http3", "tls12", "tls13", "fast_open", "early_data", "resume", "reuse", "no_pq"])]
    pub strategy: Option<Strategy>,
    /// HTTP/1.1
    #[arg(long = "http1.1", group = "http")]
    pub http1: bool,
    /// HTTP/2; without TLS, by prior knowledge
    #[arg(long, group = "http", alias = "http2-prior-knowledge")]
    pub http2: bool,
    /// HTTP/3
    #[arg(long, group = "http", alias = "http3-only")]
    pub http3: bool,
    /// TLS 1.2 and nothing newer
    #[arg(long = "tls1.2", group = "tls")]
    pub tls12: bool,
    /// TLS 1.3 and nothing older
    #[arg(long = "tls1.3", group = "tls", alias = "tlsv1.3")]
    pub tls13: bool,
    /// Use no TLS version newer than this
    #[arg(long, value_name = "VERSION", value_parser = ["1.2", "1.3"], conflicts_with = "strategy")]
    pub tls_max: Option<String>,
    /// TCP Fast Open: the first flight leaves in the SYN
    #[arg(long, alias = "tcp-fastopen")]
    pub fast_open: bool,
    /// Resume a TLS session
    #[arg(long)]
    pub resume: bool,
    /// TLS or QUIC early data (0-RTT); GET and HEAD only
    #[arg(long, alias = "tls-earlydata")]
    pub early_data: bool,
    /// Reuse a connection that is already open
    #[arg(long)]
    pub reuse: bool,
    /// Offer no post-quantum key share, so that the ClientHello fits one segment
    #[arg(long)]
    pub no_pq: bool,
    /// Do not obtain a ticket, a cookie or a connection first: measure from cold
    #[arg(long)]
    pub cold: bool,
    /// IPv4 only
    #[arg(short = '4', long, group = "family")]
    pub ipv4: bool,
    /// IPv6 only
    #[arg(short = '6', long, group = "family")]
    pub ipv6: bool,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "The request, as with curl")]
pub(crate) struct RequestArgs {
    /// Method
    #[arg(short = 'X', long, value_name = "METHOD")]
    pub request: Option<String>,
    /// 'Name: value'; 'Name:' removes a default; @FILE reads several
    #[arg(short = 'H', long, value_name = "HEADER")]
    pub header: Vec<String>,
    /// Body, or @FILE, or @- for standard input; makes it a POST
    #[arg(
        short,
        long,
        value_name = "DATA",
        alias = "data-ascii",
        allow_hyphen_values = true
    )]
    pub data: Vec<String>,
    /// The same, but line breaks of a file are kept
    #[arg(long, value_name = "DATA", allow_hyphen_values = true)]
    pub data_binary: Vec<String>,
    /// Body as it is, even with a leading @
    #[arg(long, value_name = "DATA", allow_hyphen_values = true)]
    pub data_raw: Vec<String>,
    /// The same, percent-encoded: CONTENT, NAME=CONTENT, @FILE or NAME@FILE
    #[arg(long, value_name = "DATA", allow_hyphen_values = true)]
    pub data_urlencode: Vec<String>,
    /// Send the data as the URL's query, in a GET
    #[arg(short = 'G', long, conflicts_with = "head")]
    pub get: bool,
    /// 'NAME=VALUE; …', the Cookie header; cookie files are not supported
    #[arg(short = 'b', long, value_name = "DATA", value_parser = cookie)]
    pub cookie: Vec<String>,
    /// HEAD: only the headers
    #[arg(short = 'I', long)]
    pub head: bool,
    /// Follow redirects, each with its own waterfall
    #[arg(short = 'L', long)]
    pub location: bool,
    /// Follow at most this many redirects
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub max_redirs: u32,
    /// user:password, for Basic authentication
    #[arg(short, long, value_name = "USER:PASSWORD")]
    pub user: Option<String>,
    /// The User-Agent
    #[arg(short = 'A', long, value_name = "NAME")]
    pub user_agent: Option<String>,
    /// The Referer
    #[arg(short = 'e', long, value_name = "URL")]
    pub referer: Option<String>,
    /// Ask for a compressed body and decompress it
    #[arg(long)]
    pub compressed: bool,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "The connection, as with curl")]
pub(crate) struct ConnectionArgs {
    /// Do not verify the server's certificate
    #[arg(short = 'k', long)]
    pub insecure: bool,
    /// Trust this file's certificates, and no others
    #[arg(long, value_name = "FILE")]
    pub cacert: Option<PathBuf>,
    /// Client certificate, in PEM form
    #[arg(short = 'E', long, value_name = "FILE")]
    pub cert: Option<PathBuf>,
    /// The certificate's key, if it is in another file
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub key: Option<PathBuf>,
    /// [http[s]://][user:password@]host[:port]
    #[arg(short = 'x', long, value_name = "PROXY")]
    pub proxy: Option<Proxy>,
    /// Ask these hosts directly, whatever -x, https_proxy, http_proxy or all_proxy say: names,
    /// addresses, networks; * is all
    #[arg(long, value_name = "LIST")]
    pub noproxy: Option<String>,
    /// HOST:PORT:ADDRESS[,ADDRESS]: use these addresses, whatever name servers say
    #[arg(long, value_name = "ENTRY")]
    pub resolve: Vec<Override>,
    /// HOST1:PORT1:HOST2:PORT2: connect to the second when asked for the first
    #[arg(long, value_name = "ENTRY")]
    pub connect_to: Vec<ConnectTo>,
    /// Ask this server for names, over HTTPS
    #[arg(long, value_name = "URL")]
    pub doh_url: Option<String>,
    /// Ask these name servers, ADDRESS[:PORT][,…], instead of the system's
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = name_server, conflicts_with = "doh_url")]
    pub dns_servers: Vec<SocketAddr>,
    /// Leave from this interface or address
    #[arg(long, value_name = "NAME", value_parser = bind)]
    pub interface: Option<Bind>,
    /// Connect to this Unix socket instead of an address
    #[arg(long, value_name = "PATH")]
    pub unix_socket: Option<PathBuf>,
    /// Seconds for name, connect and handshake
    #[arg(long, value_name = "SECONDS", value_parser = deadline, default_value = "15", allow_negative_numbers = true)]
    pub connect_timeout: Duration,
    /// Seconds for the whole exchange
    #[arg(short = 'm', long, value_name = "SECONDS", value_parser = deadline, default_value = "60", allow_negative_numbers = true)]
    pub max_time: Duration,
}

/// curl's flags that come with a pasted command and change nothing here.
#[derive(Debug, Args)]
#[command(next_help_heading = "Accepted from curl, without effect")]
pub(crate) struct IgnoredArgs {
    /// Errors are always shown
    #[arg(short = 'S', long)]
    pub show_error: bool,
    /// URLs have no patterns
    #[arg(short, long)]
    pub globoff: bool,
    /// Each request is made once, so that what is measured is one request
    #[arg(long, value_name = "N")]
    pub retry: Option<u32>,
    /// Accepted for curl's sake: no request is retried
    #[arg(long, value_name = "SECONDS")]
    pub retry_delay: Option<String>,
    /// Accepted for curl's sake: no request is retried
    #[arg(long, value_name = "SECONDS")]
    pub retry_max_time: Option<String>,
    /// Accepted for curl's sake: no request is retried
    #[arg(long)]
    pub retry_all_errors: bool,
    /// TLS 1.2 or newer is what is offered anyway; --tls1.2 means TLS 1.2 and nothing newer
    #[arg(long = "tlsv1.2")]
    pub tls12_or_newer: bool,
    /// Nothing is buffered
    #[arg(short = 'N', long)]
    pub no_buffer: bool,
    /// Nagle's algorithm is always off
    #[arg(long)]
    pub tcp_nodelay: bool,
    /// The key exchanges are those of TLS 1.3; --no-pq leaves the post-quantum one out
    #[arg(long, value_name = "LIST")]
    pub curves: Option<String>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Repeatedly, as with httping")]
pub(crate) struct RepeatArgs {
    /// Number of requests
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000), allow_negative_numbers = true)]
    pub count: u32,
    /// Seconds from one request to the next
    #[arg(short, long, value_name = "SECONDS", value_parser = seconds, default_value = "1", allow_negative_numbers = true)]
    pub interval: Duration,
    /// No pause between requests
    #[arg(short, long, conflicts_with = "interval")]
    pub flood: bool,
    /// Repeat the request every TIME (30s, 1m, 15m, 1h) until stopped, and record it in --store
    #[arg(long, value_name = "TIME", value_parser = pace, requires = "store", conflicts_with_all = ["count", "interval", "flood", "output", "write_out", "json", "ndjson", "html", "fail_if", "baseline", "annotations", "junit"])]
    pub every: Option<Duration>,
    /// The file in which --every records; `roundtrip history FILE` shows it
    #[arg(long, value_name = "FILE", requires = "every")]
    pub store: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "What comes out")]
pub(crate) struct OutputArgs {
    /// Write the body to this file; - is standard output (the report, JSON too, then goes to
    /// standard error)
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<String>,
    /// curl's write-out, instead of the report; @FILE reads it from there
    #[arg(short, long, value_name = "FORMAT", allow_hyphen_values = true)]
    pub write_out: Option<String>,
    /// One JSON document (schema roundtrip/probe/1)
    #[arg(long, conflicts_with = "write_out")]
    pub json: bool,
    /// One JSON object per line, as results arrive
    #[arg(long, conflicts_with_all = ["json", "write_out"])]
    pub ndjson: bool,
    /// Also write one self-contained page
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Exit with 1 (curl: 22) when the status is 400 or above; -f is --flood here
    #[arg(long, alias = "fail-with-body")]
    pub fail: bool,
    /// Exit with 3 when this holds, as in 'ttfb > 300ms', 'round_trips > 3', 'tls < 1.3'
    #[arg(long, value_name = "LIMIT")]
    pub fail_if: Vec<Limit>,
    /// Exit with 3 when round trips, connections, handshakes or bytes rise above those in this file
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// Write this run's counts into the baseline, instead of comparing them
    #[arg(long, requires = "baseline")]
    pub update: bool,
    /// Also write GitHub's workflow commands to standard error: ::error for what is broken,
    /// ::warning for findings
    #[arg(long)]
    pub annotations: bool,
    /// Also write whether each URL answered and kept its limits and baseline, as JUnit XML
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Print only errors, and what was asked for with -w, --json or -o
    #[arg(short, long, short_alias = 's', alias = "silent")]
    pub quiet: bool,
    /// Headers and every event
    #[arg(short, long)]
    pub verbose: bool,
    #[command(flatten)]
    pub qlog: QlogArgs,
    /// Colour
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    pub color: Color,
}

/// curl reads what has no `=` as the name of a file.
fn cookie(text: &str) -> Result<String, String> {
    if text.contains('=') {
        return Ok(text.to_owned());
    }
    Err("NAME=VALUE; cookie files are not supported".into())
}

const MAX_SECONDS: u64 = 86_400;

/// A limit in seconds. As with curl, 0 means none, which here is a day.
pub(super) fn deadline(text: &str) -> Result<Duration, String> {
    seconds(text).map(|limit| match limit {
        Duration::ZERO => Duration::from_secs(MAX_SECONDS),
        limit => limit,
    })
}

/// Seconds, as in curl and httping; a time with its unit works too.
pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    match seconds_or_unit(text) {
        Ok(time) if time <= Duration::from_secs(MAX_SECONDS) => Ok(time),
        Err(_) if text.contains("://") => {
            Err("a number of seconds comes first (curl's -i, the headers, is -v here)".to_owned())
        }
        Err(_) if text.trim().parse::<f64>().is_err() => {
            Err("a number of seconds, as in 0.5 or 250ms".to_owned())
        }
        _ => Err(format!("between 0 and {MAX_SECONDS} seconds")),
    }
}

/// A time from a second to a day: seconds, or with a unit.
fn pace(text: &str) -> Result<Duration, String> {
    let time = seconds_or_unit(text).map_err(|_| "a time, as in 30s, 1m or 1h".to_owned())?;
    (1..=MAX_SECONDS)
        .contains(&time.as_secs())
        .then(|| Duration::from_secs(time.as_secs()))
        .ok_or_else(|| format!("between 1 and {MAX_SECONDS} seconds"))
}

/// A bare number means seconds.
pub(super) fn seconds_or_unit(text: &str) -> Result<Duration, String> {
    match text.trim().parse::<f64>() {
        Ok(_) => parse_duration(&format!("{}s", text.trim())),
        Err(_) => parse_duration(text),
    }
}

fn bind(text: &str) -> Result<Bind, String> {
    // curl's prefixes choose between the two.
    if let Some(name) = text.strip_prefix("if!") {
        return Ok(Bind::Interface(name.to_owned()));
    }
    let bare = text.strip_prefix("host!").unwrap_or(text);
    match bare.parse::<IpAddr>() {
        Ok(address) => Ok(Bind::Address(address)),
        Err(_) if bare.is_empty() || bare.len() > 15 => {
            Err("an interface's name or an address of this machine".into())
        }
        Err(_) => Ok(Bind::Interface(bare.to_owned())),
    }
}

/// An address without a port means port 53.
pub(super) fn name_server(text: &str) -> Result<SocketAddr, String> {
    let alone = text
        .parse::<IpAddr>()
        .map(|address| SocketAddr::new(address, 53));
    alone
        .or_else(|_| text.parse())
        .map_err(|_| "an address, as in 192.0.2.53, [2001:db8::53]:5353".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_have_units_and_bounds() {
        for (text, milliseconds) in [("0.5", 500), ("250ms", 250), ("2s", 2000), ("1m", 60_000)] {
            assert_eq!(
                seconds(text),
                Ok(Duration::from_millis(milliseconds)),
                "{text}"
            );
        }
        for (text, after) in [
            ("90", 90),
            ("30s", 30),
            ("1m", 60),
            ("15min", 900),
            ("1h", 3600),
        ] {
            assert_eq!(pace(text), Ok(Duration::from_secs(after)), "{text}");
        }
        for text in ["", "-1", "nan", "25h", "86401", "x"] {
            assert!(seconds(text).is_err() && pace(text).is_err(), "{text}");
        }
        assert!(pace("0.9").is_err());
    }
}
