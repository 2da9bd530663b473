//! The report for a terminal: grouped by area, one headline a check, its meaning below.
//!
//! The status is a word, so that it reads without colour; colour only repeats it.

use std::fmt::Write;

use roundtrip_report::terminal::{Style, Tone, wrap};

use crate::check::{Check, CheckStatus};
use crate::report::StatusCounts;

/// The narrowest usable layout; lines wider than the maximum are hard to read.
const MIN_WIDTH: usize = 30;
const MAX_WIDTH: usize = 110;
/// Meaning and advice begin under the title.
const INDENT: usize = 10;

/// Renders the checks for a terminal. Values keep their characters, whatever the locale, so that a
/// reader can find them in files.
pub fn render(checks: &[Check], style: Style) -> String {
    let page = TextPage {
        style: Style {
            unicode: true,
            width: style.width.clamp(MIN_WIDTH, MAX_WIDTH),
            ..style
        },
    };
    let mut out = String::new();
    let mut area = None;
    for check in checks {
        if area != Some(check.area) {
            if area.is_some() {
                out.push('\n');
            }
            area = Some(check.area);
            let _ = writeln!(out, "{}", page.style.paint(Tone::Strong, check.area.name()));
        }
        page.check(&mut out, check);
    }
    let sum = lines(&sum(StatusCounts::count(checks)), page.style.width);
    let _ = writeln!(out, "\n{}", sum.join("\n"));
    out
}

/// The last line, which says how many findings have each status.
fn sum(summary: StatusCounts) -> String {
    let StatusCounts {
        good,
        notice,
        problem,
        unknown,
    } = summary;
    let problems = if problem == 1 { "problem" } else { "problems" };
    format!("{good} good, {notice} to notice, {problem} {problems}, {unknown} unknown")
}

/// How the page looks.
struct TextPage {
    style: Style,
}

impl TextPage {
    fn check(&self, out: &mut String, check: &Check) {
        let (word, tone) = sign(check.status);
        let room = self.style.width - INDENT;
        let headline = format!("{}: {}", check.title, check.value);
        for (number, line) in lines(&headline, room).iter().enumerate() {
            if number == 0 {
                let sign = self.style.paint(tone, &format!("{word:<7}"));
                let _ = writeln!(out, "  {sign} {line}");
            } else {
                let _ = writeln!(out, "{:INDENT$}{line}", "");
            }
        }
        for line in lines(&check.meaning, room) {
            let _ = writeln!(
                out,
                "{:INDENT$}{}",
                "",
                self.style.paint(Tone::Faint, &line)
            );
        }
        if let Some(change) = &check.change {
            for line in lines(&format!("change: {change}"), room) {
                let _ = writeln!(out, "{:INDENT$}{line}", "");
            }
        }
    }
}

/// The word and the tone of a status.
fn sign(status: CheckStatus) -> (&'static str, Tone) {
    match status {
        CheckStatus::Good => ("ok", Tone::Good),
        CheckStatus::Notice => ("notice", Tone::Warn),
        CheckStatus::Problem => ("problem", Tone::Problem),
        CheckStatus::Unknown => ("?", Tone::Unknown),
    }
}

fn lines(text: &str, room: usize) -> Vec<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut lines = wrap(&words.join(" "), room);
    lines.retain(|line| !line.is_empty());
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Area, CheckSubject};

    fn style(colour: bool, width: usize) -> Style {
        Style {
            width,
            colour,
            unicode: true,
        }
    }

    fn checks() -> Vec<Check> {
        let switch = CheckSubject::new("tcp-fast-open", Area::FastOpen, "Fast open");
        let pause = CheckSubject::new("tcp-fast-open-pause", Area::FastOpen, "Pause");
        let openssl = CheckSubject::new("tls-openssl", Area::Tls, "OpenSSL");
        let bundle = CheckSubject::new("ca-bundle", Area::Tls, "Trusted certificates");
        vec![
            switch
                .notice(
                    "0x1: client",
                    "Listeners here grant no cookie to their clients.",
                )
                .change("sysctl -w net.ipv4.tcp_fastopen=3"),
            pause.good("off", "Stays on."),
            openssl.problem("1.0.2k: TLS 1.2 at most", "Two round trips."),
            bundle.unknown("may not be read", "Open."),
        ]
    }

    #[test]
    fn reads_without_colour() {
        let expected = "\
TCP fast open
  notice  Fast open: 0x1: client
          Listeners here grant no cookie
          to their clients.
          change: sysctl -w
          net.ipv4.tcp_fastopen=3
  ok      Pause: off
          Stays on.

TLS
  problem OpenSSL: 1.0.2k: TLS 1.2 at
          most
          Two round trips.
  ?       Trusted certificates: may not
          be read
          Open.

1 good, 1 to notice, 1 problem, 1
unknown
";
        assert_eq!(render(&checks(), style(false, 40)), expected);
    }

    #[test]
    fn colour_changes_nothing_but_colour() {
        let mut plain = render(&checks(), style(true, 80));
        for code in ["0", "1", "2", "31", "32", "33", "36"] {
            assert!(plain.contains(&format!("\u{1b}[{code}m")), "{code}");
            plain = plain.replace(&format!("\u{1b}[{code}m"), "");
        }
        assert_eq!(plain, render(&checks(), style(false, 80)));
    }

    #[test]
    fn no_line_is_wider_than_asked() {
        let long =
            CheckSubject::new("a", Area::Tcp, "Long").good("x".repeat(399), "y ".repeat(200));
        for width in [0, 1, 29, 30, 31, 80, 110, 5000] {
            let text = render(std::slice::from_ref(&long), style(false, width));
            let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
            let page = width.clamp(MIN_WIDTH, MAX_WIDTH);
            assert!(widest <= page, "{width}: {widest}");
        }
    }

    #[test]
    fn nothing_found_is_still_a_report() {
        let text = render(&[], style(true, 80));
        assert_eq!(text, "\n0 good, 0 to notice, 0 problems, 0 unknown\n");
    }
}
