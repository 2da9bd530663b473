//! Finds an exchange in a capture that can be repeated, for `compare --from-trace`.

use std::io;
use std::path::{Path, PathBuf};

use roundtrip_model::{Exchange, Memory, Strategy};
use roundtrip_report::clean;
use roundtrip_trace::{Conversation, Options, Trace};

use super::source::CaptureSource;

/// Methods that may be asked again without effects.
const SAFE: [&str; 2] = ["GET", "HEAD"];

/// An exchange of another client.
#[derive(Debug)]
pub(crate) struct SeenExchange {
    pub(crate) url: String,
    /// How it was asked, on a new connection without memory.
    pub(crate) strategy: Strategy,
    connection: u64,
    took: String,
}

impl SeenExchange {
    /// The slowest exchange of a capture, or of one of its connections, that can be asked again.
    pub(crate) fn slowest(
        file: &Path,
        keys: &[PathBuf],
        connection: Option<u64>,
    ) -> io::Result<Option<Self>> {
        let mut source = CaptureSource::open(file)?;
        let mut trace = Trace::new(Options {
            steps: false,
            ..Options::default()
        });
        for keys in keys {
            trace.add_keys(&std::fs::read(keys)?);
        }
        let mut slowest = None;
        let mut more = true;
        while more {
            more = source.read(&mut |item| trace.take(item))?;
            slower(&mut slowest, trace.finished(), connection);
        }
        slower(&mut slowest, trace.end().0, connection);
        Ok(slowest.map(|(number, exchange)| Self::of(number, &exchange)))
    }

    fn of(connection: u64, exchange: &Exchange) -> Self {
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
            connection,
            took: format!(
                "{:.1} ms, {trips} round trips{}, as {}{found}",
                ms(exchange.total()),
                rtt.unwrap_or_default(),
                exchange.used
            ),
        }
    }

    /// Describes the exchange in one line.
    pub(crate) fn told(&self) -> String {
        format!(
            "connection {} of the capture asked {} in {}; from here on, it is asked again",
            self.connection,
            clean(&self.url),
            self.took
        )
    }
}

/// Keeps the slowest exchange, with the number of its connection.
fn slower(
    slowest: &mut Option<(u64, Exchange)>,
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

/// Without keys, the method is unknown, and the request goes to the server's root path.
fn can_be_asked(exchange: &Exchange) -> bool {
    let has_url = ["http://", "https://"]
        .iter()
        .any(|s| exchange.url.starts_with(s));
    let method = exchange.http.as_ref().map(|http| http.method.as_str());
    has_url && method.is_none_or(|method| method.is_empty() || SAFE.contains(&method))
}
