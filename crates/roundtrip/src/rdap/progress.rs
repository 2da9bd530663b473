//! A line on a terminal's standard error: how far a list is, how fast it goes, and how long it may take.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use roundtrip_rdap::bulk::desk::Tally;
use roundtrip_rdap::client::Client;

use crate::cli::{Color, RdapArgs};
use crate::output::Stream;

/// Work that takes no longer shows nothing.
const PATIENCE: Duration = Duration::from_secs(1);
const EVERY: Duration = Duration::from_millis(200);

pub(super) struct Progress {
    length: Option<u64>,
    began: Instant,
    last: Option<Instant>,
    silent: bool,
    /// Results go to the same terminal.
    shares: bool,
    shown: bool,
}

impl Progress {
    pub(super) fn new(args: &RdapArgs, length: Option<u64>) -> Self {
        Self {
            length,
            began: Instant::now(),
            last: None,
            silent: args.output.quiet || !Stream::Err.is_terminal(),
            shares: Stream::Out.is_terminal() && args.output.output.is_none(),
            shown: false,
        }
    }

    pub(super) fn show(&mut self, tally: Tally, client: &Client) {
        let now = Instant::now();
        let since = now - self.began;
        let due = self.last.is_none_or(|last| now - last >= EVERY);
        if self.silent || since < PATIENCE || !due {
            return;
        }
        self.last = Some(now);
        let rate = tally.told as f64 / since.as_secs_f64();
        let all = self.length.or(tally.whole.then_some(tally.read));
        let mut line = match all {
            Some(all) => format!("{} of {all}", tally.told),
            None => format!("{} told, {} read", tally.told, tally.read),
        };
        // Writing to a string cannot fail.
        let _ = write!(line, " · {rate:.0}/s · {} servers", tally.lanes);
        let connections = client.pool().tally().connections;
        let _ = write!(line, " · {connections} connections");
        if let Some(all) = all.filter(|_| rate > 0.0) {
            let left = all.saturating_sub(tally.told) as f64 / rate;
            let _ = write!(line, " · {} left", span(left));
        }
        let width = Stream::Err.style(Color::Never).width;
        let line: String = line.chars().take(width.saturating_sub(1)).collect();
        Stream::Err.print(format!("\r\u{1b}[K{line}"));
        self.shown = true;
    }

    /// Before a result is written.
    pub(super) fn make_way(&mut self) {
        if self.shares {
            self.hide();
        }
    }

    /// Takes the line away, before something else is written.
    pub(super) fn hide(&mut self) {
        if std::mem::take(&mut self.shown) {
            Stream::Err.print("\r\u{1b}[K");
        }
    }
}

fn span(seconds: f64) -> String {
    let seconds = seconds.ceil() as u64;
    match seconds {
        0..90 => format!("{seconds} s"),
        90..5400 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{:.1} h", seconds as f64 / 3600.0),
    }
}
