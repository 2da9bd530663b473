//! Lines that fit: wrapped text, labels beside it, colour and character set.

use roundtrip_report::clean;

use super::Page;

impl Page<'_> {
    pub(super) fn paragraph(&self, text: &str) -> Vec<String> {
        wrap(&clean(text), self.style.width)
    }

    /// A label and its text, wrapped beside it.
    pub(super) fn labelled(
        &self,
        code: &str,
        label: &str,
        width: usize,
        text: &str,
    ) -> Vec<String> {
        let room = self.style.width.saturating_sub(width + 4).max(20);
        let beside = wrap(text, room);
        let line = |(n, part): (usize, &String)| {
            let label = if n == 0 { label } else { "" };
            let label: String = label.chars().take(width).collect();
            let padded = if label.starts_with(['+', '-', '0']) {
                format!("{label:>width$}")
            } else {
                format!("{label:width$}")
            };
            format!("  {}  {part}", self.paint(code, &padded))
        };
        beside.iter().enumerate().map(line).collect()
    }

    pub(super) fn paint(&self, code: &str, text: &str) -> String {
        if !self.style.colour || text.trim().is_empty() {
            return text.to_owned();
        }
        format!("\x1b[{code}m{text}\x1b[0m")
    }

    pub(super) fn finished(&self, lines: &[String]) -> String {
        let mut text = String::new();
        for line in lines {
            text.push_str(line.trim_end());
            text.push('\n');
        }
        if self.style.unicode {
            return text;
        }
        let spelled = text.chars().map(|c| match c {
            '→' => '>',
            '−' => '-',
            '\n' | '\x1b' | ' '..='~' => c,
            _ => '?',
        });
        spelled.collect()
    }
}

/// Breaks text at spaces, and inside a word only when the word alone is too long.
fn wrap(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split(' ') {
        let letters: Vec<char> = word.chars().collect();
        for piece in letters.chunks(room.max(1)) {
            let gap = usize::from(used > 0);
            if used > 0 && used + gap + piece.len() > room {
                lines.push(String::new());
                used = 0;
            }
            if let Some(line) = lines.last_mut() {
                if used > 0 {
                    line.push(' ');
                    used += 1;
                }
                line.extend(piece);
                used += piece.len();
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::wrap;

    #[test]
    fn lines_fit() {
        assert_eq!(wrap("aa bb cc", 5), ["aa bb", "cc"]);
        assert_eq!(wrap("a bbbbbbb", 5), ["a", "bbbbb", "bb"]);
        assert_eq!(wrap("", 5), [""]);
    }
}
