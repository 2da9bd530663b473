//! Interprets the arguments. All errors in them are reported here, before anything is sent.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use roundtrip_model::{
    Http, Memory, Scheme, Security, Strategy, StrategyError, Target, TargetError, excerpt,
};
use roundtrip_net::NetError;
use roundtrip_probe::{Environment, Exceptions, Family, Options, OptionsError, Pace};
use roundtrip_report::write_out::{Template, WriteOutError};
use roundtrip_tls::{Client, Identity, Roots, TlsError};
use roundtrip_wire::percent;

use crate::cli::{ConnectionArgs, ProbeArgs, RequestArgs};
use crate::output::can_be_written;

/// The largest body, header file or format in bytes; a larger one must be a mistake.
const MAX_FILE: u64 = 1 << 30;

pub(crate) struct Meaning {
    /// Each URL as typed, and as parsed.
    pub(crate) targets: Vec<(String, Target)>,
    pub(crate) options: Options,
    pub(crate) pace: Pace,
    pub(crate) template: Option<Template>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum UsageError {
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error(transparent)]
    Strategy(#[from] StrategyError),
    #[error("the write-out format is wrong: {0}")]
    WriteOut(#[from] WriteOutError),
    #[error("cannot read {path}: {source}")]
    Unreadable { path: String, source: io::Error },
    #[error("'{0}' is not a header; write 'Name: value', or 'Name:' to leave out a default header")]
    Header(String),
    #[error("cannot write {path}: {source}")]
    Unwritable { path: String, source: io::Error },
    #[error(transparent)]
    Options(#[from] OptionsError),
    #[error(transparent)]
    Trust(#[from] TlsError),
    #[error("--interface: {0}")]
    Interface(NetError),
    #[error("--doh-url: {0}")]
    Doh(TargetError),
    #[error("--doh-url needs an https:// URL")]
    DohScheme,
}

impl Meaning {
    pub(crate) fn from_args(args: &ProbeArgs) -> Result<Self, UsageError> {
        // A pasted command begins with the name of the program.
        let pasted = args.urls.len() + args.url.len() > 1;
        let named = args.urls.first().is_some_and(|first| first == "curl");
        let urls = args.urls.iter().skip(usize::from(pasted && named));
        let targets: Result<Vec<_>, UsageError> = urls
            .chain(&args.url)
            .map(|url| Ok((url.clone(), target(url, &args.request)?)))
            .collect();
        let (targets, options) = (targets?, options(args)?);
        for (_, target) in &targets {
            options.check_for(target)?;
        }
        if let Some(bind) = &options.bind {
            bind.check().map_err(UsageError::Interface)?;
        }
        for path in [
            args.output.output.as_deref(),
            args.output.html.as_deref().and_then(Path::to_str),
        ] {
            check_writable(path.filter(|p| *p != "-"))?;
        }
        let interval = if args.repeat.flood {
            Duration::ZERO
        } else {
            args.repeat.interval
        };
        Ok(Self {
            targets,
            options,
            pace: Pace {
                count: args.repeat.count,
                interval,
            },
            template: args.output.write_out.as_deref().map(template).transpose()?,
        })
    }
}

fn options(args: &ProbeArgs) -> Result<Options, UsageError> {
    Ok(Options {
        strategy: strategy(args)?,
        cold: args.way.cold,
        keeps_way: args.repeat.count > 1,
        family: match (args.way.ipv4, args.way.ipv6) {
            (true, _) => Family::V4,
            (_, true) => Family::V6,
            _ => Family::Any,
        },
        ..asked(&args.request, &args.connection)?
    })
}

/// The URL, with the data as its query if that was asked for.
pub(crate) fn target(url: &str, request: &RequestArgs) -> Result<Target, UsageError> {
    if !request.get {
        return Ok(Target::parse(url)?);
    }
    let data = data(request)?;
    let (url, fragment) = url.split_once('#').unwrap_or((url, ""));
    let between = if url.contains('?') { "&" } else { "?" };
    let query = String::from_utf8_lossy(&data);
    Ok(Target::parse(&format!("{url}{between}{query}#{fragment}"))?)
}

/// The request and its version; strategy and family are still open.
pub(crate) fn asked(
    request: &RequestArgs,
    connection: &ConnectionArgs,
) -> Result<Options, UsageError> {
    let body = if request.get {
        Bytes::new()
    } else {
        data(request)?
    };
    let defaults = Options::default();
    let method = request
        .request
        .clone()
        .or(request.head.then(|| "HEAD".into()));
    let mut headers = headers(&request.header)?;
    if !request.cookie.is_empty() {
        headers.push(("Cookie".to_owned(), request.cookie.join("; ")));
    }
    headers.extend(request.referer.clone().map(|r| ("Referer".to_owned(), r)));
    let doh = connection
        .doh_url
        .as_deref()
        .map(Target::parse)
        .transpose()
        .map_err(UsageError::Doh)?;
    if doh.as_ref().is_some_and(|d| d.scheme != Scheme::Https) {
        return Err(UsageError::DohScheme);
    }
    let options = Options {
        method,
        headers,
        body,
        user: request.user.as_deref().map(|u| {
            let (user, password) = u.split_once(':').unwrap_or((u, ""));
            (user.to_owned(), password.to_owned())
        }),
        user_agent: request
            .user_agent
            .clone()
            .unwrap_or(defaults.user_agent.clone()),
        compressed: request.compressed,
        follow: request.location,
        max_redirects: request.max_redirs,
        overrides: connection.resolve.clone(),
        connect_to: connection.connect_to.clone(),
        doh,
        name_servers: connection.dns_servers.clone(),
        bind: connection.interface.clone(),
        unix_socket: connection.unix_socket.clone(),
        proxy: connection.proxy.clone(),
        environment: environment(connection)?,
        unproxied: Exceptions::parse(connection.noproxy.as_deref().unwrap_or_default()),
        roots: roots(connection.insecure, connection.cacert.clone()),
        identity: connection.cert.clone().map(|certificate| Identity {
            certificate,
            key: connection.key.clone(),
        }),
        connect_timeout: connection.connect_timeout,
        max_time: connection.max_time,
        ..defaults
    };
    options.check()?;
    check_trust(&options)?;
    Ok(options)
}

/// Reads the environment, unless it would not be used.
fn environment(connection: &ConnectionArgs) -> Result<Environment, OptionsError> {
    if connection.proxy.is_some() || connection.noproxy.as_deref() == Some("*") {
        return Ok(Environment::default());
    }
    Environment::read(|name| std::env::var(name).ok())
}

pub(crate) fn roots(insecure: bool, cacert: Option<PathBuf>) -> Roots {
    match cacert {
        _ if insecure => Roots::Anything,
        Some(file) => Roots::File(file),
        None => Roots::System,
    }
}

fn strategy(args: &ProbeArgs) -> Result<Strategy, StrategyError> {
    let way = &args.way;
    if let Some(strategy) = way.strategy {
        return Ok(strategy);
    }
    Strategy {
        http: match (way.http1, way.http2, way.http3) {
            (true, ..) => Http::H1,
            (_, true, _) => Http::H2,
            (.., true) => Http::H3,
            _ => Http::Auto,
        },
        security: match (
            way.tls12 || way.tls_max.as_deref() == Some("1.2"),
            way.tls13,
        ) {
            (true, _) => Security::Tls12,
            (_, true) => Security::Tls13,
            _ => Security::Auto,
        },
        fast_open: way.fast_open,
        memory: match (way.early_data, way.resume) {
            (true, _) => Memory::EarlyData,
            (_, true) => Memory::Resume,
            _ => Memory::Cold,
        },
        reuse: way.reuse,
        post_quantum: !way.no_pq,
    }
    .check()
}

/// `-d` parts are joined with `&`; those from files lose their line breaks, as with curl.
fn data(args: &RequestArgs) -> Result<Bytes, UsageError> {
    let mut parts: Vec<Vec<u8>> = Vec::new();
    for part in &args.data {
        parts.push(match part.strip_prefix('@') {
            Some(path) => read(path)?
                .into_iter()
                .filter(|b| !matches!(b, b'\r' | b'\n'))
                .collect(),
            None => part.clone().into_bytes(),
        });
    }
    for part in &args.data_binary {
        parts.push(match part.strip_prefix('@') {
            Some(path) => read(path)?,
            None => part.clone().into_bytes(),
        });
    }
    parts.extend(args.data_raw.iter().map(|p| p.clone().into_bytes()));
    for part in &args.data_urlencode {
        parts.push(encoded(part)?.into_bytes());
    }
    Ok(parts.join(&b'&').into())
}

/// `CONTENT`, `=CONTENT`, `NAME=CONTENT`, `@FILE` or `NAME@FILE`, as curl reads them.
fn encoded(part: &str) -> Result<String, UsageError> {
    let Some(at) = part.find(['=', '@']) else {
        return Ok(unreserved(part.as_bytes()));
    };
    let (name, rest) = part.split_at(at);
    let content = match rest.strip_prefix('@') {
        Some(path) => read(path)?,
        None => rest.get(1..).unwrap_or_default().as_bytes().to_vec(),
    };
    let equals = if name.is_empty() { "" } else { "=" };
    Ok(format!("{name}{equals}{}", unreserved(&content)))
}

/// Encodes all but the unreserved characters. RFC 3986 §2.3.
fn unreserved(bytes: &[u8]) -> String {
    percent::encode(bytes, |byte| {
        byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
    })
}

fn headers(given: &[String]) -> Result<Vec<(String, String)>, UsageError> {
    let mut headers = Vec::new();
    for line in given {
        if let Some(path) = line.strip_prefix('@') {
            let text = String::from_utf8_lossy(&read(path)?).into_owned();
            for line in text.lines().filter(|l| !l.trim().is_empty()) {
                headers.push(header(line)?);
            }
        } else {
            headers.push(header(line)?);
        }
    }
    Ok(headers)
}

fn header(line: &str) -> Result<(String, String), UsageError> {
    // `Name;` sends an empty header, as with curl; a space keeps it from being taken for "leave
    // out".
    if let Some(name) = line.strip_suffix(';').filter(|n| !n.contains(':')) {
        return Ok((name.to_owned(), " ".to_owned()));
    }
    let bad = || UsageError::Header(excerpt(line, 60));
    let (name, value) = line.split_once(':').ok_or_else(bad)?;
    if name.trim().is_empty() {
        return Err(bad());
    }
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

fn template(given: &str) -> Result<Template, UsageError> {
    match given.strip_prefix('@') {
        Some(path) => Ok(Template::parse_file(&String::from_utf8_lossy(&read(
            path,
        )?))?),
        None => Ok(Template::parse(given)?),
    }
}

/// Files with certificates and keys are read again when time is measured; this only checks that
/// they can be read.
fn check_trust(options: &Options) -> Result<(), TlsError> {
    if options.roots == Roots::System && options.identity.is_none() {
        return Ok(());
    }
    Client::new(options.roots.clone(), options.identity.as_ref()).map(drop)
}

/// An existing path that is not a file (a pipe, a device) is opened only once.
pub(crate) fn check_writable(path: Option<&str>) -> Result<(), UsageError> {
    let Some(path) = path else {
        return Ok(());
    };
    can_be_written(path.as_ref()).map_err(|source| UsageError::Unwritable {
        path: path.to_owned(),
        source,
    })
}

fn read(path: &str) -> Result<Vec<u8>, UsageError> {
    let mut bytes = Vec::new();
    let outcome = if path == "-" {
        io::stdin().lock().take(MAX_FILE).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(MAX_FILE).read_to_end(&mut bytes))
    };
    outcome.map_err(|source| UsageError::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    Ok(bytes)
}
