//! Finds an exchange in a capture, or a request in a log, that can be repeated, for `compare
//! --from-trace`.

use std::io;
use std::path::{Path, PathBuf};

use roundtrip_model::{Exchange, Http, Memory, Security, Strategy};
use roundtrip_report::clean;
use roundtrip_trace::logs::Log;
use roundtrip_trace::{Conversation, Options, Trace};
use roundtrip_wire::key_log::KeyLog;

use super::keys::KeyFiles;
use super::logs::MAX_LOG;
use super::source::CaptureSource;

/// Methods that may be asked again without effects.
const SAFE: [&str; 2] = ["GET", "HEAD"];

/// An exchange, with the number of its connection.
type Numbered = (u64, Exchange);

/// An exchange of another client.
#[derive(Debug)]
pub(crate) struct SeenExchange {
    pub(crate) url: String,
    /// How the exchange was requested, on a new connection without memory.
    pub(crate) strategy: Strategy,
    /// Where the exchange was seen.
    source: String,
    took: String,
}

impl SeenExchange {
    /// The slowest exchange that can be asked again: of a capture, of one of its connections, or of
    /// a log.
    pub(crate) fn slowest(
        file: &Path,
        keys: &[PathBuf],
        connection: Option<u64>,
    ) -> io::Result<Option<Self>> {
        let mut source = CaptureSource::open(file)?;
        if !source.is_capture()? {
            let unfit = [
                (connection.is_some(), "--flow"),
                (!keys.is_empty(), "--keys"),
            ];
            if let Some((_, flag)) = unfit.iter().find(|(given, _)| *given) {
                let why = format!("it is a log, not a capture: {flag} needs packets");
                return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
            }
            return Self::slowest_told(&source.whole(MAX_LOG)?);
        }
        let options = Options {
            steps: false,
            ..Options::default()
        };
        let mut trace = Trace::new(options);
        let files = KeyFiles::new(keys, false).add_all(&mut trace);
        files.map_err(|(_, error)| error)?;
        let (mut found, keys) = slowest_in(&mut source, trace, connection)?;
        if let Some(keys) = keys.filter(|_| source.has_late_secrets()) {
            let trace = Trace::with_keys(options, keys);
            (found, _) = slowest_in(&mut CaptureSource::open(file)?, trace, connection)?;
        }
        Ok(found.map(|(number, exchange)| Self::from_exchange(number, &exchange)))
    }

    fn from_exchange(connection: u64, exchange: &Exchange) -> Self {
        let ms = |span: std::time::Duration| span.as_secs_f64() * 1e3;
        let trips = exchange.round_trips();
        let rtt = exchange.rtt.map(|r| format!(" of {:.1} ms", ms(r)));
        let found: Vec<String> = exchange
            .findings
            .iter()
            .take(3)
            .map(|f| format!("{} {:.1} ms", f.id, f.ms))
            .collect();
        let found = match found.as_slice() {
            [] => String::new(),
            found => format!("; {}", found.join(", ")),
        };
        Self {
            url: exchange.url.clone(),
            strategy: Strategy {
                memory: Memory::Cold,
                reuse: false,
                fast_open: false,
                ..exchange.used
            },
            source: format!("connection {connection} of the capture"),
            took: format!(
                "{:.1} ms, {trips} round trips{}, as {}{found}",
                ms(exchange.total()),
                rtt.unwrap_or_default(),
                exchange.used
            ),
        }
    }

    fn slowest_told(log: &[u8]) -> io::Result<Option<Self>> {
        let Some(log) = Log::read(log) else {
            let why = "it is neither a capture nor a log of requests";
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        };
        let all = log.slowest();
        let mut all = all.into_iter();
        let found = all.find(|request| is_safe(&request.method) && has_url(&request.url));
        Ok(found.map(|request| {
            let took = log.exchange(request).total();
            Self {
                url: request.url.clone(),
                strategy: Strategy {
                    http: version_of(request.protocol.as_deref().unwrap_or_default()),
                    security: if request.url.starts_with("http://") {
                        Security::Clear
                    } else {
                        Security::Auto
                    },
                    ..Strategy::default()
                },
                source: format!("the client that wrote the {}", log.format.as_str()),
                took: format!("{:.1} ms, as it measured", took.as_secs_f64() * 1e3),
            }
        }))
    }

    /// Describes the exchange in one line.
    pub(crate) fn told(&self) -> String {
        format!(
            "{} asked {} in {}; now the same request is made again",
            self.source,
            clean(&self.url),
            self.took
        )
    }
}

/// The version of HTTP in a log's words.
fn version_of(protocol: &str) -> Http {
    let protocol = protocol.to_ascii_lowercase();
    match protocol.strip_prefix("http/").unwrap_or(&protocol) {
        "1.0" | "1.1" => Http::H1,
        "2" | "2.0" | "h2" => Http::H2,
        "3" | "3.0" | "h3" => Http::H3,
        _ => Http::Auto,
    }
}

/// The slowest exchange, with the number of its connection; and all secrets. An error in the middle
/// of the capture hides what is behind it.
fn slowest_in(
    source: &mut CaptureSource,
    mut trace: Trace,
    connection: Option<u64>,
) -> io::Result<(Option<Numbered>, Option<KeyLog>)> {
    let mut slowest = None;
    loop {
        match source.read(&mut |item| trace.take(item)) {
            Ok(true) => slower(&mut slowest, trace.finished(), connection),
            Ok(false) => break,
            Err(_) if trace.counts().frames > 0 => break,
            Err(error) => return Err(error),
        }
    }
    let keys = trace.take_keys();
    slower(&mut slowest, trace.end().0, connection);
    Ok((slowest, keys))
}

/// Keeps the slowest exchange, with the number of its connection.
fn slower(
    slowest: &mut Option<Numbered>,
    conversations: Vec<Conversation>,
    connection: Option<u64>,
) {
    for conversation in conversations {
        if connection.is_some_and(|number| number != conversation.number) {
            continue;
        }
        for exchange in conversation.exchanges {
            let least = slowest.as_ref().map(|(_, slow)| slow.total());
            if can_be_asked(&exchange) && least.is_none_or(|least| exchange.total() > least) {
                *slowest = Some((conversation.number, exchange));
            }
        }
    }
}

/// Whether the exchange can be repeated. Without keys, the method is unknown, and the request goes
/// to the server's root path.
fn can_be_asked(exchange: &Exchange) -> bool {
    let method = exchange.http.as_ref().map(|http| http.method.as_str());
    has_url(&exchange.url) && method.is_none_or(|method| method.is_empty() || is_safe(method))
}

fn has_url(url: &str) -> bool {
    url.starts_with("http://") || url.starts_with("https://")
}

fn is_safe(method: &str) -> bool {
    SAFE.contains(&method)
}
