//! Width, colour and character set, and the few tones a report may use.

use crate::party::Party;
use crate::text::cut;

/// How a terminal wants its text. The caller finds out; this crate asks nobody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Columns; taken as at least 40 and at most 200.
    pub width: usize,
    pub colour: bool,
    /// Off: ASCII only.
    pub unicode: bool,
}

impl Default for Style {
    /// What suits a file or a pipe.
    fn default() -> Self {
        Self {
            width: 80,
            colour: false,
            unicode: true,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    Strong,
    Faint,
    Good,
    Bad,
    Warn,
    Of(Party),
}

impl Tone {
    /// SGR parameters out of the 16 colours that every terminal's theme defines.
    fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Strong => "1",
            Self::Faint => "2",
            Self::Good | Self::Of(Party::Resolver) => "32",
            Self::Bad => "1;31",
            Self::Warn | Self::Of(Party::Server) => "33",
            Self::Of(Party::Loss) => "31",
            Self::Of(Party::Network) => "34",
            Self::Of(Party::Client) => "35",
        }
    }
}

impl Style {
    pub(super) fn columns(&self) -> usize {
        self.width.clamp(40, 200)
    }

    pub(super) fn paint(&self, tone: Tone, text: &str) -> String {
        let text = self.spelled(text);
        if !self.colour || tone == Tone::Plain || text.is_empty() {
            return text;
        }
        format!("\x1b[{}m{text}\x1b[0m", tone.code())
    }

    /// The text in the characters that this terminal has. Length is kept, so that columns stay aligned.
    pub(super) fn spelled(&self, text: &str) -> String {
        if self.unicode {
            return text.to_owned();
        }
        text.chars().map(ascii).collect()
    }

    /// Text in a column of that width, cut where it must be.
    pub(super) fn left(&self, tone: Tone, text: &str, width: usize) -> String {
        let text = cut(text, width);
        let pad = width.saturating_sub(text.chars().count());
        format!("{}{}", self.paint(tone, &text), " ".repeat(pad))
    }

    pub(super) fn right(&self, tone: Tone, text: &str, width: usize) -> String {
        let text = cut(text, width);
        let pad = width.saturating_sub(text.chars().count());
        format!("{}{}", " ".repeat(pad), self.paint(tone, &text))
    }

    /// What fills the part of a bar that was spent waiting for a party.
    pub(super) fn fill(&self, party: Party) -> char {
        match (party, self.unicode) {
            (Party::Network, true) => '█',
            (Party::Server, true) => '▓',
            (Party::Client, true) => '▒',
            (Party::Resolver, true) => '░',
            (Party::Loss, true) => '╳',
            (Party::Network, false) => '#',
            (Party::Server, false) => '=',
            (Party::Client, false) => '-',
            (Party::Resolver, false) => ':',
            (Party::Loss, false) => 'x',
        }
    }
}

/// The lines as one text, without blanks at their ends.
pub(super) fn finished(lines: &[String]) -> String {
    let mut text = String::new();
    for line in lines {
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn ascii(c: char) -> char {
    match c {
        ' '..='~' => c,
        '→' | '▸' => '>',
        '×' => 'x',
        '…' => '~',
        '─' => '-',
        '·' | '├' | '┼' | '▏' | '▅' | '▆' => '|',
        '✓' => '+',
        '✗' => '!',
        'µ' => 'u',
        '▁' => '_',
        '▂' => '.',
        '▃' | '▄' => ':',
        '▇' | '█' => '#',
        _ => '?',
    }
}
