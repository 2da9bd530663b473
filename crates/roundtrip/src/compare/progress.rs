//! A line on a terminal's standard error: what is asked, and how much of the budget is spent.

use roundtrip_compare::Wishes;
use roundtrip_report::clean;

use crate::output::Stream;

pub(super) struct Progress {
    most: u32,
    silent: bool,
    shown: bool,
}

impl Progress {
    pub(super) fn new(wishes: &Wishes, quiet: bool) -> Self {
        Self {
            most: wishes.limits.requests,
            silent: quiet || !Stream::Err.is_terminal(),
            shown: false,
        }
    }

    pub(super) fn show(&mut self, p: &roundtrip_compare::Progress) {
        if self.silent {
            return;
        }
        let what = match p.block {
            Some(block) => format!("block {block}"),
            None => "what is there".into(),
        };
        let line = format!(
            "{} of {} requests · {what} · {}",
            p.sent,
            self.most,
            clean(&p.word)
        );
        let width = Stream::Err.style(crate::cli::Color::Never).width;
        let line: String = line.chars().take(width.saturating_sub(1)).collect();
        Stream::Err.print(format!("\r\u{1b}[K{line}"));
        self.shown = true;
    }

    /// Takes the line away.
    pub(super) fn stop(&mut self) {
        if std::mem::take(&mut self.shown) {
            Stream::Err.print("\r\u{1b}[K");
        }
    }
}
