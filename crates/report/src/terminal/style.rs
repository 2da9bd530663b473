//! Width, colour and character set, and the few tones of reports: the only place that writes SGR
//! sequences.

use super::clean::clean;
use super::width::{cut, width, width_of};
use crate::party::Party;

/// The properties of the terminal, which the caller determines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// The number of columns; limited to between 40 and 200.
    pub width: usize,
    pub colour: bool,
    /// Whether to use Unicode; otherwise only ASCII.
    pub unicode: bool,
}

impl Default for Style {
    /// The defaults for a file or a pipe.
    fn default() -> Self {
        Self {
            width: 80,
            colour: false,
            unicode: true,
        }
    }
}

/// The meaning of a piece of text, which determines its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tone {
    #[default]
    Plain,
    Strong,
    Faint,
    Good,
    Warn,
    /// A failure: also in bold.
    Bad,
    /// Something is worse than it should be, but has not failed.
    Problem,
    /// A value that could not be determined.
    Unknown,
    /// The colour of a party's time.
    Of(Party),
}

impl Tone {
    /// The SGR parameters, among the 16 colours that every terminal's theme defines.
    fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Strong => "1",
            Self::Faint => "2",
            Self::Good | Self::Of(Party::Resolver) => "32",
            Self::Bad => "1;31",
            Self::Warn | Self::Of(Party::Server) => "33",
            Self::Problem | Self::Of(Party::Loss) => "31",
            Self::Unknown | Self::Of(Party::Unknown) => "36",
            Self::Of(Party::Network) => "34",
            Self::Of(Party::Client) => "35",
        }
    }
}

impl Style {
    /// The number of columns to lay out for.
    pub fn columns(&self) -> usize {
        self.width.clamp(40, 200)
    }

    /// One line of any text: sanitised, in this terminal's character set, and in its tone.
    pub fn paint(&self, tone: Tone, text: &str) -> String {
        self.tint(tone, &self.spelled(&clean(text)))
    }

    /// Text that is already sanitised and in this terminal's character set, in its tone.
    pub fn tint(&self, tone: Tone, text: &str) -> String {
        if !self.colour || tone == Tone::Plain || text.is_empty() {
            return text.to_owned();
        }
        format!("\x1b[{}m{text}\x1b[0m", tone.code())
    }

    /// The text in this terminal's character set. Its width in columns does not change.
    pub fn spelled(&self, text: &str) -> String {
        if self.unicode || text.is_ascii() {
            return text.to_owned();
        }
        let spelled = |c| std::iter::repeat_n(ascii(c), width_of(c));
        text.chars().flat_map(spelled).collect()
    }

    /// Text in a column of this width, cut if necessary.
    pub fn left(&self, tone: Tone, text: &str, columns: usize) -> String {
        let (text, pad) = fitted(text, columns);
        self.paint(tone, &text) + &pad
    }

    /// Like [`Self::left`], at the right end of the column.
    pub fn right(&self, tone: Tone, text: &str, columns: usize) -> String {
        let (text, pad) = fitted(text, columns);
        pad + &self.paint(tone, &text)
    }
}

/// The text, cut to the columns, and the blanks that fill them.
fn fitted(text: &str, columns: usize) -> (String, String) {
    let text = cut(&clean(text), columns);
    let pad = " ".repeat(columns.saturating_sub(width(&text)));
    (text, pad)
}

/// Joins the lines, without blanks at their ends.
pub fn finished(lines: &[String]) -> String {
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
        '─' | '–' | '—' | '‐' | '‑' | '−' => '-',
        '‘' | '’' => '\'',
        '“' | '”' | '«' | '»' => '"',
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
