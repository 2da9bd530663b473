//! Words on lines: tones, widths and line breaks. All text for a terminal passes through here and
//! is made harmless.

use roundtrip_report::{clean, terminal};

/// The tones of a report, as in `roundtrip-report`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Tone {
    #[default]
    Plain,
    Strong,
    Faint,
    Good,
    Warn,
    Bad,
}

impl Tone {
    /// The SGR parameters, from the 16 colours that every terminal theme defines.
    fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Strong => "1",
            Self::Faint => "2",
            Self::Good => "32",
            Self::Warn => "33",
            Self::Bad => "1;31",
        }
    }
}

/// Text in one tone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) tone: Tone,
    pub(super) text: String,
}

/// A text that grows line by line, within the terminal's width.
pub(super) struct Page {
    style: terminal::Style,
    text: String,
    /// The current line, in pieces of one tone each, and its width.
    line: Vec<Run>,
    column: usize,
}

impl Page {
    pub(super) fn new(style: terminal::Style) -> Self {
        Self {
            style,
            text: String::new(),
            line: Vec::new(),
            column: 0,
        }
    }

    pub(super) fn finish(mut self) -> String {
        self.end_line();
        self.text
    }

    pub(super) fn columns(&self) -> usize {
        self.style.width.clamp(40, 200)
    }

    /// Ends the line unless it is empty.
    pub(super) fn end_line(&mut self) {
        let pieces = std::mem::take(&mut self.line);
        if pieces.is_empty() {
            return;
        }
        let last = pieces.iter().rposition(|p| !p.text.trim().is_empty());
        for (i, piece) in pieces.iter().enumerate().take(last.map_or(0, |l| l + 1)) {
            let text = if Some(i) == last {
                piece.text.trim_end()
            } else {
                &piece.text
            };
            self.paint(piece.tone, text);
        }
        self.text.push('\n');
        self.column = 0;
    }

    /// Adds an empty line between two blocks, but not at the top.
    pub(super) fn gap(&mut self) {
        self.end_line();
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    /// Adds blanks up to a column.
    pub(super) fn tab(&mut self, column: usize) {
        let blanks = column.saturating_sub(self.column);
        self.put(Tone::Plain, &" ".repeat(blanks));
    }

    /// Adds one blank, unless the line is full.
    pub(super) fn space(&mut self) {
        if self.column < self.columns() {
            self.put(Tone::Plain, " ");
        }
    }

    /// Adds two blanks, or starts a new line if text of width `wide` fits only there.
    pub(super) fn aside(&mut self, wide: usize, indent: usize) {
        let room = self.columns().saturating_sub(self.column);
        if wide + 2 > room && wide <= self.columns().saturating_sub(indent) {
            self.end_line();
            self.tab(indent);
        } else {
            self.space();
            self.space();
        }
    }

    /// The text and the note beside it. If the terminal lacks the characters of the text and the
    /// note says the same in ASCII, only the note.
    pub(super) fn worded<'t>(&self, text: &'t str, note: &'t str) -> (&'t str, &'t str) {
        let same = note.contains("xn--") && note.is_ascii();
        if self.style.unicode || text.is_ascii() || !same {
            (text, note)
        } else {
            (note, "")
        }
    }

    /// Adds words at the current position; what does not fit continues below, at column `indent`.
    pub(super) fn flow(&mut self, tone: Tone, text: &str, indent: usize) {
        let mut glued = true;
        for word in text.split_whitespace() {
            let word = self.spelled(&clean(word));
            let blank = usize::from(!glued);
            let room = self.columns().saturating_sub(self.column);
            if width(&word) + blank > room && self.column > indent {
                self.end_line();
                self.tab(indent);
            } else if !glued {
                self.put(tone, " ");
            }
            self.put_broken(tone, &word, indent);
            glued = false;
        }
    }

    /// Adds a word that may be wider than a whole line.
    fn put_broken(&mut self, tone: Tone, word: &str, indent: usize) {
        let mut piece = String::new();
        let mut wide = 0;
        for c in word.chars() {
            if self.column + wide + width_of(c) > self.columns() && self.column + wide > indent {
                self.put(tone, &piece);
                self.end_line();
                self.tab(indent);
                piece.clear();
                wide = 0;
            }
            piece.push(c);
            wide += width_of(c);
        }
        self.put(tone, &piece);
    }

    fn put(&mut self, tone: Tone, text: &str) {
        if text.is_empty() {
            return;
        }
        self.column += width(text);
        match self.line.last_mut() {
            Some(last) if last.tone == tone => last.text.push_str(text),
            _ => self.line.push(Run {
                tone,
                text: text.to_owned(),
            }),
        }
    }

    fn paint(&mut self, tone: Tone, text: &str) {
        if self.style.colour && tone != Tone::Plain && !text.is_empty() {
            self.text.push_str("\x1b[");
            self.text.push_str(tone.code());
            self.text.push('m');
            self.text.push_str(text);
            self.text.push_str("\x1b[0m");
        } else {
            self.text.push_str(text);
        }
    }

    /// The text in the characters that this terminal has.
    fn spelled(&self, text: &str) -> String {
        if self.style.unicode || text.is_ascii() {
            return text.to_owned();
        }
        let ascii = |c: char| match c {
            ' '..='~' => c,
            '·' => '|',
            '–' | '—' | '‐' | '‑' => '-',
            '…' => '~',
            '‘' | '’' => '\'',
            '“' | '”' | '«' | '»' => '"',
            _ => '?',
        };
        text.chars().map(ascii).collect()
    }
}

/// The number of columns that a text takes.
pub(super) fn width(text: &str) -> usize {
    text.chars().map(width_of).sum()
}

/// The number of columns that a character takes: none for combining marks, two for wide East Asian
/// characters and for pictures (an approximation of Unicode UAX 11).
fn width_of(c: char) -> usize {
    match c {
        '\u{300}'..='\u{36f}'
        | '\u{483}'..='\u{489}'
        | '\u{591}'..='\u{5bd}'
        | '\u{64b}'..='\u{65f}'
        | '\u{e31}'
        | '\u{e34}'..='\u{e3a}'
        | '\u{e47}'..='\u{e4e}'
        | '\u{1ab0}'..='\u{1aff}'
        | '\u{1dc0}'..='\u{1dff}'
        | '\u{20d0}'..='\u{20ff}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{fe20}'..='\u{fe2f}' => 0,
        '\u{1100}'..='\u{115f}'
        | '\u{2e80}'..='\u{303e}'
        | '\u{3041}'..='\u{a4cf}'
        | '\u{a960}'..='\u{a97c}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe6f}'
        | '\u{ff00}'..='\u{ff60}'
        | '\u{ffe0}'..='\u{ffe6}'
        | '\u{1f300}'..='\u{1f64f}'
        | '\u{1f680}'..='\u{1f6ff}'
        | '\u{1f900}'..='\u{1f9ff}'
        | '\u{20000}'..='\u{3fffd}' => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flowed(text: &str, width: usize) -> String {
        let style = terminal::Style {
            width,
            colour: false,
            unicode: true,
        };
        let mut page = Page::new(style);
        page.tab(10);
        page.flow(Tone::Strong, text, 10);
        page.finish()
    }

    #[test]
    fn lines_fit_whatever_is_on_them() {
        let long = format!(
            "one two {} 漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字 e\u{301}nd",
            "x".repeat(70)
        );
        let text = flowed(&long, 40);
        assert!(text.lines().all(|l| width(l) <= 40), "{text}");
        let words = |t: &str| t.chars().filter(|c| !c.is_whitespace()).collect::<String>();
        assert_eq!(words(&text), words(&long));
    }

    #[test]
    fn nothing_reaches_the_terminal_raw() {
        let text = flowed("a\x1b[2Jb \u{202e}c \u{9b}31m d\u{2028}e\r\nf", 80);
        assert_eq!(text.trim(), "a\\u{1b}[2Jb \\u{202e}c \\u{9b}31m d e f");
    }
}
