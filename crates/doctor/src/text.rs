//! The report for a terminal: grouped by area, one headline a check, its meaning below.
//!
//! The status is a word, so that it reads without colour; colour only repeats it.

use std::fmt::Write;

use crate::check::{Check, Status};
use crate::report::StatusCounts;

/// Narrower than this nothing can be laid out; wider is hard to read.
const NARROWEST: usize = 30;
const WIDEST: usize = 110;
/// Meaning and advice begin under the title.
const INDENT: usize = 10;

const BOLD: &str = "1";
const DIM: &str = "2";

/// Renders the checks for a terminal `width` columns wide.
pub fn render(checks: &[Check], colour: bool, width: usize) -> String {
    let page = Page {
        colour,
        width: width.clamp(NARROWEST, WIDEST),
    };
    let mut out = String::new();
    let mut area = None;
    for check in checks {
        if area != Some(check.area) {
            if area.is_some() {
                out.push('\n');
            }
            area = Some(check.area);
            let _ = writeln!(out, "{}", page.paint(BOLD, check.area.name()));
        }
        page.check(&mut out, check);
    }
    let sum = wrap(&sum(StatusCounts::count(checks)), page.width);
    let _ = writeln!(out, "\n{}", sum.join("\n"));
    out
}

/// The last line: how many of each status.
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
struct Page {
    colour: bool,
    width: usize,
}

impl Page {
    fn check(&self, out: &mut String, check: &Check) {
        let (word, code) = sign(check.status);
        let headline = format!("{}: {}", check.title, check.value);
        for (number, line) in wrap(&headline, self.width - INDENT).iter().enumerate() {
            if number == 0 {
                let sign = self.paint(code, &format!("{word:<7}"));
                let _ = writeln!(out, "  {sign} {line}");
            } else {
                let _ = writeln!(out, "{:INDENT$}{line}", "");
            }
        }
        for line in wrap(&check.meaning, self.width - INDENT) {
            let _ = writeln!(out, "{:INDENT$}{}", "", self.paint(DIM, &line));
        }
        if let Some(change) = &check.change {
            for line in wrap(&format!("change: {change}"), self.width - INDENT) {
                let _ = writeln!(out, "{:INDENT$}{line}", "");
            }
        }
    }

    fn paint(&self, code: &str, text: &str) -> String {
        if self.colour {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
}

/// The word and the colour of a status.
fn sign(status: Status) -> (&'static str, &'static str) {
    match status {
        Status::Good => ("ok", "32"),
        Status::Notice => ("notice", "33"),
        Status::Problem => ("problem", "31"),
        Status::Unknown => ("?", "36"),
    }
}

/// Breaks at spaces; a word longer than a line is cut.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut used = 0;
    for word in text.split_whitespace() {
        let mut word: Vec<char> = word.chars().collect();
        if used > 0 && used + 1 + word.len() > width {
            lines.push(std::mem::take(&mut line));
            used = 0;
        }
        while word.len() > width {
            let rest = word.split_off(width);
            lines.push(word.into_iter().collect());
            word = rest;
        }
        if used > 0 {
            line.push(' ');
            used += 1;
        }
        used += word.len();
        line.extend(word);
    }
    if used > 0 {
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Area, Subject};

    fn checks() -> Vec<Check> {
        let switch = Subject::new("tcp-fast-open", Area::FastOpen, "Fast open");
        let pause = Subject::new("tcp-fast-open-pause", Area::FastOpen, "Pause");
        let openssl = Subject::new("tls-openssl", Area::Tls, "OpenSSL");
        let bundle = Subject::new("ca-bundle", Area::Tls, "Trusted certificates");
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
        assert_eq!(render(&checks(), false, 40), expected);
    }

    #[test]
    fn colour_changes_nothing_but_colour() {
        let mut plain = render(&checks(), true, 80);
        for code in ["0", BOLD, DIM, "31", "32", "33", "36"] {
            assert!(plain.contains(&format!("\u{1b}[{code}m")), "{code}");
            plain = plain.replace(&format!("\u{1b}[{code}m"), "");
        }
        assert_eq!(plain, render(&checks(), false, 80));
    }

    #[test]
    fn no_line_is_wider_than_asked() {
        let long = Subject::new("a", Area::Tcp, "Long").good("x".repeat(399), "y ".repeat(200));
        for width in [0, 1, 29, 30, 31, 80, 110, 5000] {
            let text = render(std::slice::from_ref(&long), false, width);
            let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
            let page = width.clamp(NARROWEST, WIDEST);
            assert!(widest <= page, "{width}: {widest}");
        }
    }

    #[test]
    fn nothing_found_is_still_a_report() {
        let text = render(&[], true, 80);
        assert_eq!(text, "\n0 good, 0 to notice, 0 problems, 0 unknown\n");
    }
}
