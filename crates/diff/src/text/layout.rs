//! Paragraphs, and labels with their text next to them.

use roundtrip_report::terminal::{Tone, clean, wrap};

use super::TextOptions;

impl TextOptions<'_> {
    pub(super) fn paragraph(&self, text: &str) -> Vec<String> {
        let lines = wrap(&clean(text), self.style.width);
        let spelled = lines.iter().map(|line| self.paint(Tone::Plain, line));
        spelled.collect()
    }

    /// A label and its text, wrapped next to it. Numbers are right-aligned in their column.
    pub(super) fn labelled(
        &self,
        tone: Tone,
        label: &str,
        columns: usize,
        text: &str,
    ) -> Vec<String> {
        let room = self.style.width.saturating_sub(columns + 4).max(20);
        let beside = wrap(&clean(text), room);
        let line = |(n, part): (usize, &String)| {
            let label: String = label.chars().take(columns).collect();
            let label = match label {
                _ if n > 0 || label.is_empty() => " ".repeat(columns),
                label if label.starts_with(['+', '-', '0']) => {
                    self.paint(tone, &format!("{label:>columns$}"))
                }
                label => self.paint(tone, &format!("{label:columns$}")),
            };
            format!("  {label}  {}", self.paint(Tone::Plain, part))
        };
        beside.iter().enumerate().map(line).collect()
    }

    pub(super) fn paint(&self, tone: Tone, text: &str) -> String {
        self.style.paint(tone, text)
    }
}
