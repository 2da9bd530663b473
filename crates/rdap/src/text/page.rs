//! Words on lines that are filled piece by piece. All text for a terminal is sanitised here.

use roundtrip_report::terminal::{self, Tone, Wrap, clean, width};

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
        self.style.columns()
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
            self.text.push_str(&self.style.tint(piece.tone, text));
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

    /// Moves to a column, at least two blanks after the text: on the next line if the text reaches
    /// that far or if the column is already in use.
    pub(super) fn tab_or_below(&mut self, column: usize) {
        if self.column + 2 > column {
            self.end_line();
        }
        self.tab(column);
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

    /// The text and its note. If the terminal cannot show the text, and the note says the same in
    /// ASCII, only the note.
    pub(super) fn worded<'t>(&self, text: &'t str, note: &'t str) -> (&'t str, &'t str) {
        let same = note.contains("xn--") && note.is_ascii();
        if self.style.unicode || text.is_ascii() || !same {
            (text, note)
        } else {
            (note, "")
        }
    }

    /// Adds words at the current position; words that do not fit continue below, at column
    /// `indent`.
    pub(super) fn flow(&mut self, tone: Tone, text: &str, indent: usize) {
        let words = text
            .split_whitespace()
            .map(|word| self.style.spelled(&clean(word)));
        let words: Vec<String> = words.collect();
        let below = self.columns().saturating_sub(indent);
        let here = self.columns().saturating_sub(self.column);
        let lines = Wrap::within(below).first(here).lines(&words.join(" "));
        for (n, line) in lines.iter().enumerate() {
            if n > 0 {
                self.end_line();
                self.tab(indent);
            }
            self.put(tone, line);
        }
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
    fn all_lines_fit() {
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
