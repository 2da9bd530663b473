//! Interprets the arguments.

use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use roundtrip_fetch::memory::answers::Policy;
use roundtrip_fetch::memory::{DEFAULT_SIZE, Memory, MemoryError};
use roundtrip_fetch::pool::{Deadlines, Override, Pool, Settings};
use roundtrip_fetch::rate_limiter::{RateError, RateLimiter, Rules, SystemTimer};
use roundtrip_http::Tokens;
use roundtrip_model::{Memory as Warmth, Scheme, Target, TargetError};
use roundtrip_rdap::bootstrap::{Bootstrap, Registry};
use roundtrip_rdap::bulk::list::{Part, holds_query};
use roundtrip_rdap::bulk::scheduler::ListOptions;
use roundtrip_rdap::client::{Client, LookupOptions, Parts};
use roundtrip_rdap::credentials::{Credentials, CredentialsError};
use roundtrip_rdap::published_limits::PUBLISHED_LIMITS;
use roundtrip_rdap::text::{Column, DEFAULT_COLUMNS, Form, TextError};
use roundtrip_tls::{Client as Tls, Identity, Roots, TlsError};

use super::sink;
use crate::cli::{RdapArgs, RdapOutputArgs};
use crate::probe::roots;

pub(super) const USER_AGENT: &str = concat!("roundtrip-rdap/", env!("CARGO_PKG_VERSION"));

/// The number of streams that most servers allow on a connection. RFC 9113 §6.5.2.
const AT_ONCE: u32 = 100;
/// The number of streams on each of several connections: enough for thousands of lookups a second,
/// and each takes memory.
const AT_ONCE_EACH: u32 = 40;

pub(super) struct Meaning {
    pub(super) client: Client,
    pub(super) list: Vec<Part>,
    /// How many queries there are, if that is known.
    pub(super) length: Option<u64>,
    pub(super) order: ListOptions,
    pub(super) form: Form,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum UsageError {
    #[error("no query given: name a domain, an address, an AS number, or a list with -f")]
    NoQuery,
    #[error("the query '{0}' is empty: name a domain, an address, an AS number, or a list with -f")]
    EmptyQuery(String),
    #[error("--server: {0}")]
    Server(TargetError),
    #[error("--check-server: {0}")]
    CheckServer(TargetError),
    #[error("--{flag} {given}: name an http:// or https:// URL")]
    Scheme { flag: &'static str, given: String },
    #[error("--bootstrap: {0}")]
    Bootstrap(TargetError),
    #[error("cannot read {0}: {1}")]
    Unreadable(PathBuf, io::Error),
    #[error("-o {1} would overwrite the list {0}: name another file")]
    Overwritten(PathBuf, PathBuf),
    #[error(transparent)]
    Rate(#[from] RateError),
    #[error(transparent)]
    Memory(#[from] MemoryError),
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
    #[error(transparent)]
    Trust(#[from] TlsError),
    #[error(transparent)]
    Text(#[from] TextError),
}

impl Meaning {
    pub(super) fn from_args(args: &RdapArgs) -> Result<Self, UsageError> {
        let (list, length) = list(args)?;
        let form = form(&args.output)?;
        let server = args.asking.server.as_deref();
        let server = server.map(|given| base("server", given, UsageError::Server));
        let server = server.transpose()?;
        let memory = Arc::new(memory(args)?);
        let tokens = Tokens::default();
        let (mut settings, tls) = settings(args, &tokens, server.as_ref())?;
        settings.seeks_tickets = memory.is_somewhere();
        let mut rules = Rules::new(&PUBLISHED_LIMITS);
        rules.patience = args.bulk.patience;
        for rate in &args.bulk.rate {
            rules.add(rate)?;
        }
        let mut bootstrap = Bootstrap::embedded();
        bootstrap.overlay(args.asking.overlay);
        let client = Client::new(Parts {
            options: options(args, server)?,
            pool: Pool::new(settings)?,
            tls,
            tokens,
            bootstrap,
            rate_limiter: RateLimiter::new(rules, memory.clone(), Arc::new(SystemTimer), seed()),
            memory,
        });
        Ok(Self {
            client,
            list,
            length,
            order: ListOptions {
                ordered: args.bulk.ordered || args.way.serial,
                at_once: at_once(args),
                serial: args.way.serial,
                retries: args.bulk.retry_failed,
            },
            form,
        })
    }
}

/// The parts of the list, and its length if there are only arguments.
fn list(args: &RdapArgs) -> Result<(Vec<Part>, Option<u64>), UsageError> {
    let mut parts = Vec::new();
    if let Some(empty) = args.queries.iter().find(|query| !holds_query(query)) {
        return Err(UsageError::EmptyQuery(empty.clone()));
    }
    if !args.queries.is_empty() {
        parts.push(Part::Words(args.queries.clone()));
    }
    for file in &args.bulk.file {
        if let Some(output) = &args.output.output
            && sink::files(output).iter().any(|own| is_same(own, file))
        {
            return Err(UsageError::Overwritten(file.clone(), output.clone()));
        }
        // A pipe is opened only once, or its writer would see it end.
        if let Part::File(path) = Part::file(file)
            && !is_pipe(&path)
        {
            std::fs::File::open(&path).map_err(|e| UsageError::Unreadable(path, e))?;
        }
        parts.push(Part::file(file));
    }
    if parts.is_empty() {
        return Err(UsageError::NoQuery);
    }
    let length = args
        .bulk
        .file
        .is_empty()
        .then_some(args.queries.len() as u64);
    Ok((parts, length))
}

/// Whether both paths lead to one regular file.
fn is_same(one: &Path, other: &Path) -> bool {
    let found = |path: &Path| {
        let found = std::fs::metadata(path).ok();
        found.filter(std::fs::Metadata::is_file)
    };
    let place = |path: &Path| found(path).map(|found| (found.dev(), found.ino()));
    place(one).is_some_and(|place_of_one| place(other) == Some(place_of_one))
}

fn is_pipe(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo())
}

pub(super) fn base(
    flag: &'static str,
    given: &str,
    wrong: impl Fn(TargetError) -> UsageError,
) -> Result<Target, UsageError> {
    // A base URL ends with a slash; otherwise joining would replace its last part.
    let text = if given.ends_with('/') {
        given.to_owned()
    } else {
        format!("{given}/")
    };
    let target = Target::parse(&text).map_err(wrong)?;
    match target.scheme {
        Scheme::Http | Scheme::Https if given.contains("://") => Ok(target),
        _ => Err(UsageError::Scheme {
            flag,
            given: given.to_owned(),
        }),
    }
}

fn options(args: &RdapArgs, server: Option<Target>) -> Result<LookupOptions, UsageError> {
    let credentials = match (&args.asking.user_file, &server) {
        (Some(file), Some(server)) => Some(Credentials::from_file(server, file)?),
        (None, Some(server)) => Credentials::from_url(server)?,
        _ => None,
    };
    // From here on, only the credentials hold the password.
    let server = server.map(Target::without_userinfo);
    let certified = args.connection.cert.as_ref().and(server.clone());
    Ok(LookupOptions {
        kind: args.asking.kind,
        server,
        insecure_http: args.asking.insecure_http,
        follow: !args.asking.no_follow,
        pages: args.asking.pages,
        by_range: args.asking.by_range,
        policy: Policy {
            max_age: args.memory.max_age,
            refresh: args.memory.refresh,
            offline: args.memory.offline,
            ..Policy::default()
        },
        early: !args.way.no_early_data,
        credentials,
        certified,
        // A user with one query wants to know at once that there is no answer.
        persistent: !args.bulk.file.is_empty() || args.queries.len() > 1,
        awaits_first_answer: !args.bulk.file.is_empty(),
        shares: !args.way.no_reuse,
        registries: registries(args)?,
        user_agent: USER_AGENT.to_owned(),
    })
}

/// The URL from which IANA's registries are renewed. They are not needed if the user names the
/// server, and not wanted if the user measures single connections.
fn registries(args: &RdapArgs) -> Result<Option<Target>, UsageError> {
    if args.asking.server.is_some() || args.memory.offline || args.way.no_reuse {
        return Ok(None);
    }
    match args.asking.bootstrap.as_deref().unwrap_or(Registry::BASE) {
        "off" => Ok(None),
        given => base("bootstrap", given, UsageError::Bootstrap).map(Some),
    }
}

pub(super) fn memory(args: &RdapArgs) -> Result<Memory, UsageError> {
    let Some(directory) = directory(args) else {
        return Ok(Memory::nowhere());
    };
    let memory = Memory::open(&directory, DEFAULT_SIZE)?;
    let connection = &args.connection;
    Ok(
        match roots(connection.insecure, connection.cacert.clone()) {
            Roots::System => memory,
            // If the file cannot be read, no server is trusted.
            other => other
                .fingerprint()
                .map_or_else(|_| Memory::nowhere(), |trust| memory.apart(&trust)),
        },
    )
}

/// The directory of the memory, if it should be used.
pub(super) fn directory(args: &RdapArgs) -> Option<PathBuf> {
    if args.memory.no_memory || args.way.no_reuse {
        return None;
    }
    let environment = std::env::var_os;
    let usual =
        || Memory::default_directory("rdap", environment("XDG_CACHE_HOME"), environment("HOME"));
    args.memory.memory.clone().or_else(usual)
}

pub(super) fn settings(
    args: &RdapArgs,
    tokens: &Tokens,
    server: Option<&Target>,
) -> Result<(Settings, Arc<Tls>), UsageError> {
    let connection = &args.connection;
    let identity = connection.cert.clone().map(|certificate| Identity {
        certificate,
        key: connection.key.clone(),
    });
    let roots = roots(connection.insecure, connection.cacert.clone());
    let tls = Arc::new(Tls::new(roots.clone(), None)?);
    // Registrars, and servers that a redirect leads to, do not see the user's identity.
    let own = match (&identity, server) {
        (Some(_), Some(server)) => Some((
            server.origin(),
            Arc::new(Tls::new(roots.clone(), identity.as_ref())?),
        )),
        _ => None,
    };
    let defaults = Settings::default();
    let mut strategy = args.way.strategy.unwrap_or(defaults.strategy);
    strategy.reuse = true;
    if args.way.no_early_data && strategy.memory == Warmth::EarlyData {
        strategy.memory = Warmth::Resume;
    }
    let settings = Settings {
        strategy,
        serial: args.way.serial,
        h1_connections: args.way.connections as usize,
        shared_connections: if is_unlimited(args) {
            args.way.connections as usize
        } else {
            1
        },
        deadlines: Deadlines {
            connect: connection.connect_timeout,
            total: connection.max_time,
            first_byte: connection.max_time.min(defaults.deadlines.first_byte),
            ..defaults.deadlines
        },
        roots,
        tls: Some(tls.clone()),
        own,
        tokens: tokens.clone(),
        overrides: connection.resolve.iter().map(resolved).collect(),
        name_servers: connection.dns_servers.clone(),
        ..defaults
    };
    let settings = if args.way.no_reuse {
        settings.without_reuse()
    } else {
        settings
    };
    Ok((settings, tls))
}

/// Whether no rate limits apply: several connections then carry more than a server allows on one.
fn is_unlimited(args: &RdapArgs) -> bool {
    args.bulk.rate.iter().any(|rate| rate == "off")
}

fn at_once(args: &RdapArgs) -> usize {
    let usual = if is_unlimited(args) {
        (AT_ONCE_EACH * args.way.connections).max(AT_ONCE)
    } else {
        AT_ONCE
    };
    args.bulk.at_once.unwrap_or(usual) as usize
}

fn resolved(entry: &roundtrip_probe::Override) -> Override {
    Override {
        host: entry.host.clone(),
        port: Some(entry.port),
        addresses: entry.addresses.clone(),
    }
}

fn form(output: &RdapOutputArgs) -> Result<Form, UsageError> {
    Ok(if output.json {
        Form::Ndjson
    } else if output.raw {
        Form::Json
    } else if output.whois {
        Form::Whois
    } else if output.csv || !output.columns.is_empty() {
        Form::Csv(match output.columns.as_slice() {
            [] => Column::parse_list(DEFAULT_COLUMNS)?,
            chosen => Column::parse_list(&chosen.join(","))?,
        })
    } else if !output.field.is_empty() {
        Form::Fields(
            output
                .field
                .iter()
                .map(|f| Column::parse(f))
                .collect::<Result<_, _>>()?,
        )
    } else {
        Form::Readable
    })
}

/// Jitter differs from run to run.
fn seed() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = now.map_or(0, |age| age.subsec_nanos());
    u64::from(now) << 32 | u64::from(std::process::id())
}
