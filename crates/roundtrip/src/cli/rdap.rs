//! The flags of `rdap`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use roundtrip_model::{Strategy, parse_duration};
use roundtrip_probe::Override;

use super::Color;
use super::probe::{deadline, name_server};

#[derive(Debug, Args)]
#[command(
    disable_version_flag = true,
    after_help = "Examples:
  roundtrip rdap example.com                       who registered it: registry and registrar
  roundtrip rdap 192.0.2.1 2001:db8::/32 AS64500   addresses and numbers
  roundtrip rdap --json -f names.txt               a list: one JSON line per answer, as they finish
  roundtrip rdap --csv -o out.csv -f names.txt     a table; --resume continues an unfinished one
  roundtrip rdap --timing --no-follow a.com b.com  what each lookup waited for
  roundtrip rdap --timing --no-reuse --serial …    the same, with a new connection for each
  roundtrip rdap --check example.com               which rules the answers violate
  roundtrip rdap --check-server URL example.com    and how the server behaves

Exit codes: 0 found, 4 not registered, 5 refused, 1 failed or --check found a violation, 2 wrong
usage. Of several queries: 1 if one failed, else 5 if one was refused, else 0."
)]
pub(crate) struct RdapArgs {
    /// A name, address, network, AS number, entity's handle or URL; or KIND:WORDS, as in
    /// domains:exam*
    #[arg(value_name = "QUERY")]
    pub queries: Vec<String>,
    /// Version, and how old IANA's registries are: those built in, and newer ones in the memory
    #[arg(short = 'V', long)]
    pub version: bool,

    #[command(flatten)]
    pub asking: AskingArgs,
    #[command(flatten)]
    pub bulk: BulkArgs,
    #[command(flatten)]
    pub way: RdapWayArgs,
    #[command(flatten)]
    pub memory: MemoryArgs,
    #[command(flatten)]
    pub connection: RdapConnectionArgs,
    #[command(flatten)]
    pub output: RdapOutputArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Queries and servers")]
pub(crate) struct AskingArgs {
    /// The kind of the queries, if their form does not show it: nameserver, entity, domains, …
    #[arg(short = 't', long = "type", value_name = "KIND")]
    pub kind: Option<roundtrip_rdap::query::Kind>,
    /// Ask this server, whatever IANA's registries say
    #[arg(short, long, value_name = "URL")]
    pub server: Option<String>,
    /// Check this server at each of its addresses: GET and HEAD, CORS, status codes and help; give
    /// a query for an object that it knows
    #[arg(long, value_name = "URL", conflicts_with_all = ["server", "file", "raw", "whois", "csv", "columns", "field", "check", "timing", "offline"])]
    pub check_server: Option<String>,
    /// Also ask servers of country codes that IANA does not list
    #[arg(long)]
    pub overlay: bool,
    /// Where IANA's registries are renewed from, during lookups and at most once a day: the URL of
    /// a directory with dns.json and the other files; off for never
    #[arg(long, value_name = "URL", conflicts_with = "server")]
    pub bootstrap: Option<String>,
    /// Ask a registry in clear text if its https URL fails, but never after a certificate that does
    /// not verify
    #[arg(long)]
    pub insecure_http: bool,
    /// Do not also ask the registrar that the registry names
    #[arg(long)]
    pub no_follow: bool,
    /// Fetch at most this many pages of a search
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub pages: u32,
    /// Let one answer about an address serve its whole range; networks inside that range are then
    /// not seen
    #[arg(long)]
    pub by_range: bool,
    /// A file with user:password, for the server that asks for it; Basic or Digest
    #[arg(long, value_name = "FILE", requires = "server")]
    pub user_file: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Many queries")]
pub(crate) struct BulkArgs {
    /// One query a line; - is standard input; # begins a comment
    #[arg(short, long, value_name = "FILE")]
    pub file: Vec<PathBuf>,
    /// Print results in the order of the queries, not as they finish
    #[arg(long)]
    pub ordered: bool,
    /// Continue where an interrupted run with the same list and -o FILE ended (it has left a
    /// FILE.journal), or ask again where servers failed (FILE.failed)
    #[arg(long, requires = "output")]
    pub resume: bool,
    /// When everything else is done, repeat the lookups at which a server failed
    #[arg(long)]
    pub retry_failed: bool,
    /// How often each server is asked: RATE or HOST=RATE, as in 5/s, 10/min, off
    #[arg(long, value_name = "[HOST=]RATE")]
    pub rate: Vec<String>,
    /// Wait at most this long when a server asks for a pause; for a longer pause, give up
    #[arg(long, value_name = "SPAN", value_parser = parse_duration, default_value = "2m")]
    pub patience: Duration,
    /// Lookups in flight to each server: 100, or 40 for each connection if --rate is off
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub at_once: Option<u32>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "How to get there")]
pub(crate) struct RdapWayArgs {
    /// How to reach servers, in one word: h1+tls1.3, h2+tls1.3+tfo+0rtt-pq, h3+0rtt, …; by default
    /// whatever each server is known to offer
    #[arg(long, value_name = "WORD")]
    pub strategy: Option<Strategy>,
    /// A new connection for each lookup, and nothing resumed
    #[arg(long)]
    pub no_reuse: bool,
    /// One lookup after another
    #[arg(long)]
    pub serial: bool,
    /// Never send a query before the handshake ends
    #[arg(long)]
    pub no_early_data: bool,
    /// Connections to each server that speaks HTTP/1.1, and to every server if --rate is off
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub connections: u32,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Data kept between runs")]
pub(crate) struct MemoryArgs {
    /// The directory of tickets, limits, answers and IANA's registries
    #[arg(long, value_name = "DIR", conflicts_with = "no_memory")]
    pub memory: Option<PathBuf>,
    /// Remember nothing, and use nothing remembered
    #[arg(long)]
    pub no_memory: bool,
    /// Leave no process behind to receive the next tickets; by default one may stay for up to three
    /// seconds
    #[arg(long)]
    pub no_background: bool,
    /// Answer from memory only
    #[arg(long, conflicts_with_all = ["refresh", "no_memory"])]
    pub offline: bool,
    /// Ask again, even where the remembered answer is fresh
    #[arg(long)]
    pub refresh: bool,
    /// Take answers up to this old without asking, as in 12h or 7d
    #[arg(long, value_name = "SPAN", value_parser = parse_duration, conflicts_with = "refresh")]
    pub max_age: Option<Duration>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "The connection")]
pub(crate) struct RdapConnectionArgs {
    /// Do not verify servers' certificates
    #[arg(short = 'k', long)]
    pub insecure: bool,
    /// Trust this file's certificates, and no others
    #[arg(long, value_name = "FILE")]
    pub cacert: Option<PathBuf>,
    /// Client certificate, in PEM form, for the server named by --server
    #[arg(short = 'E', long, value_name = "FILE", requires = "server")]
    pub cert: Option<PathBuf>,
    /// The certificate's key, if it is in another file
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub key: Option<PathBuf>,
    /// HOST:PORT:ADDRESS[,ADDRESS]: use these addresses, whatever name servers say
    #[arg(long, value_name = "ENTRY")]
    pub resolve: Vec<Override>,
    /// Ask these name servers, ADDRESS[:PORT][,…], instead of the system's
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = name_server)]
    pub dns_servers: Vec<SocketAddr>,
    /// Seconds for name, connect and handshake
    #[arg(long, value_name = "SECONDS", value_parser = deadline, default_value = "15", allow_negative_numbers = true)]
    pub connect_timeout: Duration,
    /// Seconds for each answer, not counting the wait for its turn
    #[arg(short = 'm', long, value_name = "SECONDS", value_parser = deadline, default_value = "60", allow_negative_numbers = true)]
    pub max_time: Duration,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "What comes out")]
pub(crate) struct RdapOutputArgs {
    /// One JSON line per query (schema roundtrip/rdap/1), with the answers as they were received
    #[arg(long, group = "form")]
    pub json: bool,
    /// The server's own bytes, and nothing else
    #[arg(long, group = "form")]
    pub raw: bool,
    /// Key: value lines, as in WHOIS
    #[arg(long, group = "form")]
    pub whois: bool,
    /// A table, one line per query or search result
    #[arg(long, group = "form")]
    pub csv: bool,
    /// A table of these columns; `--columns help` names them
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with_all = ["json", "raw", "whois", "field"])]
    pub columns: Vec<String>,
    /// Print only one value of each answer: a column's name or a JSON pointer such as
    /// /events/0/eventDate
    #[arg(long, value_name = "NAME", group = "form")]
    pub field: Vec<String>,
    /// Show violations of RFC 7480, RFC 9083 and of the profiles that the answers claim
    #[arg(long)]
    pub check: bool,
    /// Show what each lookup waited for, in ms and round trips, and how long all of them took
    #[arg(long)]
    pub timing: bool,
    /// Write to this file; - is standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// No progress and no notes
    #[arg(short, long)]
    pub quiet: bool,
    /// Every member of the answers, notices and remarks in full
    #[arg(short, long)]
    pub verbose: bool,
    /// Do not show text on a terminal through $PAGER or less
    #[arg(long)]
    pub no_pager: bool,
    /// Colour
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    pub color: Color,
}
