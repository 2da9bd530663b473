//! Reads blackbox_exporter's configuration file. Unsupported settings are listed with line and
//! column; unknown settings are an error.

mod credentials;
mod dns;
mod grpc;
mod http;
mod icmp;
mod octets;
mod pattern;
mod scalar;
mod shown;
mod tcp;
mod tls;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_saphyr::Spanned;

pub(crate) use credentials::OAuth2;
pub(crate) use dns::{DnsModule, RecordRules, Transport};
pub(crate) use grpc::GrpcModule;
pub(crate) use http::{Compression, HttpModule, IpProtocol, proxy};
pub(crate) use icmp::IcmpModule;
pub(crate) use pattern::Pattern;
use scalar::{Span, or_default};
use shown::Shown;
use tcp::UnixTable;
pub(crate) use tcp::{SourceAddress, TcpModule, TcpStep};
pub(crate) use tls::TlsSettings;

/// The largest size of a file, in bytes; larger ones are not read.
const MAX_FILE: usize = 4 * 1024 * 1024;

/// The modules of a file.
#[derive(Debug)]
pub struct ProbeModules {
    modules: BTreeMap<String, Module>,
    unsupported: Vec<Unsupported>,
    shown: Shown,
}

#[derive(Debug, Clone)]
pub(crate) struct Module {
    pub(crate) timeout: Option<Duration>,
    pub(crate) kind: ModuleKind,
}

#[derive(Debug, Clone)]
pub(crate) enum ModuleKind {
    Http(Box<HttpModule>),
    Tcp(Box<TcpModule>),
    Dns(Box<DnsModule>),
    Icmp(Box<IcmpModule>),
    Grpc(Box<GrpcModule>),
    Unix(Box<TcpModule>),
}

impl Module {
    /// The error if a probe is for `hostname`, but the module names another host.
    pub(crate) fn host_conflict(&self, hostname: Option<&str>) -> Option<String> {
        let ModuleKind::Http(http) = &self.kind else {
            return None;
        };
        let (own, asked) = (http.field("host")?, hostname?);
        (own != asked).then(|| {
            format!(
                "host header defined both in module configuration ({own}) and with URL-parameter 'hostname' ({asked})\n"
            )
        })
    }
}

/// A setting, or a whole module, that blackbox_exporter supports and this exporter does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsupported {
    pub module: String,
    pub line: u64,
    pub column: u64,
    pub what: String,
}

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("cannot read {path}: {source}")]
    Read {
        path: String,
        source: std::io::Error,
    },
    #[error("{path} is larger than {MAX_FILE} bytes")]
    TooLarge { path: String },
    #[error("{path}: {message}")]
    Malformed { path: String, message: String },
    #[error("{path} cannot be honoured:\n{}", lines(unsupported))]
    Unsupported {
        path: String,
        unsupported: Vec<Unsupported>,
    },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default, deserialize_with = "or_default")]
    modules: BTreeMap<String, ModuleTable>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ModuleTable {
    prober: Spanned<String>,
    #[serde(default, deserialize_with = "or_default")]
    timeout: Span,
    #[serde(default, deserialize_with = "or_default")]
    http: HttpModule,
    #[serde(default, deserialize_with = "or_default")]
    tcp: TcpModule,
    #[serde(default, deserialize_with = "or_default")]
    icmp: IcmpModule,
    #[serde(default, deserialize_with = "or_default")]
    dns: DnsModule,
    #[serde(default, deserialize_with = "or_default")]
    grpc: GrpcModule,
    #[serde(default, deserialize_with = "or_default")]
    unix: UnixTable,
    #[serde(default, rename = "websocket")]
    _websocket: Option<IgnoredAny>,
}

impl ProbeModules {
    /// Reads a file. With `skip`, unsupported modules are left out; otherwise they are an error.
    pub fn read(path: &str, skip: bool) -> Result<Self, ConfigError> {
        let size = std::fs::metadata(path).map_or(0, |found| found.len());
        if size > MAX_FILE as u64 {
            return Err(ConfigError::TooLarge { path: path.into() });
        }
        let text = std::fs::read_to_string(path).map_err(|source| ConfigError::Read {
            path: path.into(),
            source,
        })?;
        let read = Self::parse(&text).map_err(|message| ConfigError::Malformed {
            path: path.into(),
            message,
        })?;
        if !skip && !read.unsupported.is_empty() {
            return Err(ConfigError::Unsupported {
                path: path.into(),
                unsupported: read.unsupported,
            });
        }
        Ok(read)
    }

    /// The built-in configuration: only the module `http_2xx`, as in the file that comes with
    /// blackbox_exporter.
    pub fn built_in() -> Self {
        let module = Module {
            timeout: None,
            kind: ModuleKind::Http(Box::default()),
        };
        Self {
            modules: [("http_2xx".to_owned(), module)].into(),
            unsupported: Vec::new(),
            shown: Shown::new("modules:\n  http_2xx:\n    prober: http\n"),
        }
    }

    fn parse(text: &str) -> Result<Self, String> {
        let file: File =
            serde_saphyr::from_str(&octets::quoted(text)).map_err(|error| told(&error))?;
        let (mut modules, mut unsupported) = (BTreeMap::new(), Vec::new());
        for (name, table) in file.modules {
            let mut reasons = Vec::new();
            let prober = &table.prober;
            let (kind, mistake) = match prober.value.as_str() {
                "http" => {
                    table.http.unsupported(&mut reasons);
                    let mistake = table.http.mistake();
                    (Some(ModuleKind::Http(Box::new(table.http))), mistake)
                }
                "tcp" => {
                    table.tcp.unsupported(&mut reasons);
                    let mistake = table.tcp.mistake();
                    (Some(ModuleKind::Tcp(Box::new(table.tcp))), mistake)
                }
                "dns" => {
                    table.dns.unsupported(&mut reasons);
                    let mistake = table.dns.mistake();
                    (Some(ModuleKind::Dns(Box::new(table.dns))), mistake)
                }
                "icmp" => {
                    let mistake = table.icmp.mistake();
                    (Some(ModuleKind::Icmp(Box::new(table.icmp))), mistake)
                }
                "grpc" => {
                    table.grpc.unsupported(&mut reasons);
                    let mistake = table.grpc.mistake();
                    (Some(ModuleKind::Grpc(Box::new(table.grpc))), mistake)
                }
                "unix" => {
                    let unix = TcpModule::from(table.unix);
                    unix.unsupported(&mut reasons);
                    let mistake = unix.mistake_over_unix();
                    (Some(ModuleKind::Unix(Box::new(unix))), mistake)
                }
                "websocket" => {
                    reasons.push((format!("prober: {}", prober.value), prober.referenced));
                    (None, None)
                }
                other => {
                    let (line, column) = (prober.referenced.line(), prober.referenced.column());
                    return Err(format!(
                        "line {line}, column {column}: '{other}' is not a prober; known are dns, grpc, http, icmp, tcp and unix (and websocket, which is not supported)"
                    ));
                }
            };
            if let Some(mistake) = mistake {
                let (line, column) = (prober.referenced.line(), prober.referenced.column());
                return Err(format!(
                    "line {line}, column {column}: module '{name}': {mistake}"
                ));
            }
            let supported = reasons.is_empty();
            unsupported.extend(reasons.into_iter().map(|(what, at)| Unsupported {
                module: name.clone(),
                line: at.line(),
                column: at.column(),
                what,
            }));
            if let Some(kind) = kind.filter(|_| supported) {
                let timeout = Some(table.timeout.0).filter(|time| !time.is_zero());
                modules.insert(name, Module { timeout, kind });
            }
        }
        unsupported.sort_by_key(|u| (u.line, u.column));
        Ok(Self {
            modules,
            unsupported,
            shown: Shown::new(&octets::quoted(text)),
        })
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Module> {
        self.modules.get(name)
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.modules.keys().map(String::as_str)
    }

    /// The modules and settings that were left out.
    pub fn unsupported(&self) -> &[Unsupported] {
        &self.unsupported
    }

    /// The file's values without its secrets.
    pub(crate) fn shown(&self) -> &str {
        &self.shown.all
    }

    /// The settings of a module without its secrets.
    pub(crate) fn shown_module(&self, name: &str) -> &str {
        let found = self.shown.modules.get(name);
        found.map(String::as_str).unwrap_or_default()
    }
}

/// The error in one line, with its place, but without the list of everything that is allowed.
fn told(error: &serde_saphyr::Error) -> String {
    let plain = error.without_snippet().to_string();
    let line = plain.lines().next().unwrap_or_default();
    let line = line.strip_prefix("error: ").unwrap_or(line);
    let what = line.split(", expected one of").next().unwrap_or(line);
    let what: String = what.chars().take(400).collect();
    match error.location() {
        Some(at) if !what.starts_with("line ") => {
            format!("line {}, column {}: {what}", at.line(), at.column())
        }
        _ => what,
    }
}

fn lines(unsupported: &[Unsupported]) -> String {
    let lines: Vec<String> = unsupported.iter().map(|u| format!("  {u}")).collect();
    lines.join("\n")
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            module,
            line,
            column,
            what,
        } = self;
        write!(
            f,
            "line {line}, column {column}: module '{module}': '{what}' is not supported"
        )
    }
}
