//! Breaks text into lines.

use super::width::{width, width_of};

/// Breaks text at spaces, and inside a word only if the word alone is too wide.
pub fn wrap(text: &str, room: usize) -> Vec<String> {
    Wrap::within(room).lines(text)
}

/// How to break text into lines.
#[derive(Debug, Clone, Copy)]
pub struct Wrap {
    first: usize,
    room: usize,
    keeps_words: bool,
}

impl Wrap {
    /// Lines of at most `room` columns.
    pub fn within(room: usize) -> Self {
        Self {
            first: room,
            room,
            keeps_words: false,
        }
    }

    /// Gives the first line `room` columns instead, because something precedes it, or because the
    /// others are indented. If the first word fits only into the second line, the first line is
    /// empty.
    #[must_use]
    pub fn first(self, room: usize) -> Self {
        Self {
            first: room,
            ..self
        }
    }

    /// Does not break a word that is too wide: it exceeds the line, so that it can be copied whole.
    #[must_use]
    pub fn keep_words(self) -> Self {
        Self {
            keeps_words: true,
            ..self
        }
    }

    /// The lines, at least one. Blanks between words are kept, but none begins a line.
    pub fn lines(self, text: &str) -> Vec<String> {
        let mut page = LineWrapper {
            lines: vec![String::new()],
            used: 0,
            room: self.first,
            below: self.room,
        };
        let mut words = text.split(' ').peekable();
        while let Some(word) = words.next() {
            match words.next_if(|unit| is_measure(word, unit)) {
                Some(unit) => page.word(&format!("{word} {unit}"), self.keeps_words),
                None => page.word(word, self.keeps_words),
            }
        }
        page.lines
    }
}

/// A number and its unit, which stay on one line.
fn is_measure(number: &str, unit: &str) -> bool {
    const UNITS: [&str; 12] = [
        "ms", "s", "µs", "kB", "MB", "GB", "B", "byte", "bytes", "%", "RT", "Mbit/s",
    ];
    let digits = number.trim_start_matches(['(', '+', '-', '−', '<', '>']);
    let unit = unit.trim_end_matches([',', '.', ';', ':', ')']);
    digits.starts_with(|c: char| c.is_ascii_digit()) && UNITS.contains(&unit)
}

struct LineWrapper {
    lines: Vec<String>,
    /// Columns of the last line.
    used: usize,
    room: usize,
    /// The room of the following lines.
    below: usize,
}

impl LineWrapper {
    fn word(&mut self, word: &str, is_kept: bool) {
        let wide = width(word);
        let gap = usize::from(self.used > 0);
        if self.used + gap + wide > self.room && (self.used > 0 || self.room < self.below) {
            self.turn();
        }
        if self.used > 0 {
            self.put(' ');
        }
        let is_broken = wide > self.room && !is_kept;
        for c in word.chars() {
            if is_broken && self.used + width_of(c) > self.room && self.used > 0 {
                self.turn();
            }
            self.put(c);
        }
    }

    fn turn(&mut self) {
        self.lines.push(String::new());
        self.used = 0;
        self.room = self.below;
    }

    fn put(&mut self, c: char) {
        if let Some(last) = self.lines.last_mut() {
            last.push(c);
            self.used += width_of(c);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn breaks_at_spaces_and_inside_long_words() {
        assert_eq!(wrap("aa bb cc", 5), ["aa bb", "cc"]);
        assert_eq!(wrap("a bbbbbbbbbbbb c", 5), ["a", "bbbbb", "bbbbb", "bb c"]);
        assert_eq!(wrap("a bbbbbbb", 5), ["a", "bbbbb", "bb"]);
        assert_eq!(wrap("a  b", 5), ["a  b"]);
        assert_eq!(wrap("", 5), [""]);
        assert_eq!(wrap("ab", 0), ["a", "b"]);
    }

    #[test]
    fn wide_characters_take_two_columns_and_marks_none() {
        assert_eq!(wrap("漢字漢字 x", 5), ["漢字", "漢字", "x"]);
        assert_eq!(
            wrap("e\u{301}e\u{301} e\u{301}", 4),
            ["e\u{301}e\u{301} e\u{301}"]
        );
    }

    #[test]
    fn long_words_are_kept_if_requested() {
        let lines = Wrap::within(5).keep_words().lines("a bbbbbbbb c");
        assert_eq!(lines, ["a", "bbbbbbbb", "c"]);
    }

    #[test]
    fn the_first_line_can_be_shorter_or_longer() {
        assert_eq!(Wrap::within(6).first(2).lines("aaa b"), ["", "aaa b"]);
        assert_eq!(
            Wrap::within(6).first(2).lines("a b c d e"),
            ["a", "b c d", "e"]
        );
        assert_eq!(Wrap::within(3).first(5).lines("aa bb cc"), ["aa bb", "cc"]);
    }
}
