//! A table: the first column is aligned to the left, the others to the right.

use super::clean::clean;
use super::style::{Style, Tone};
use super::width::width;

const GAP: usize = 2;

/// One cell of a table.
#[derive(Debug, Clone)]
pub struct Cell {
    tone: Tone,
    text: String,
    takes_the_rest: bool,
}

impl Cell {
    pub fn new(tone: Tone, text: impl AsRef<str>) -> Self {
        Self {
            tone,
            text: clean(text.as_ref()),
            takes_the_rest: false,
        }
    }

    pub fn plain(text: impl AsRef<str>) -> Self {
        Self::new(Tone::Plain, text)
    }

    /// Text that takes the rest of its line, regardless of the columns' widths.
    pub fn long(tone: Tone, text: impl AsRef<str>) -> Self {
        Self {
            takes_the_rest: true,
            ..Self::new(tone, text)
        }
    }

    fn column(&self) -> usize {
        if self.takes_the_rest {
            0
        } else {
            width(&self.text)
        }
    }
}

#[derive(Debug, Clone)]
struct Row {
    /// The tone of the whole line, blanks included; its cells have no tone then.
    tone: Tone,
    cells: Vec<Cell>,
}

/// Rows of cells.
#[derive(Debug, Clone, Default)]
pub struct Table {
    indent: usize,
    rows: Vec<Row>,
}

impl Table {
    /// A table that begins at column `indent`.
    pub fn new(indent: usize) -> Self {
        Self {
            indent,
            rows: Vec::new(),
        }
    }

    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.line(Tone::Plain, cells);
    }

    /// A row in one tone from its first column to its last.
    pub fn line(&mut self, tone: Tone, cells: impl IntoIterator<Item = Cell>) {
        let cells = cells.into_iter().collect();
        self.rows.push(Row { tone, cells });
    }

    /// Writes all columns, even if they are wider than the terminal.
    pub fn whole(&self, style: &Style) -> String {
        self.render(style, usize::MAX)
    }

    /// Writes as many columns as fit into the width, but at least the first two.
    pub fn fitted(&self, style: &Style) -> String {
        let widths = self.widths();
        let mut room = style.width.saturating_sub(self.indent);
        let fitting = widths.iter().take_while(|column| {
            let fits = room >= **column;
            room = room.saturating_sub(**column + GAP);
            fits
        });
        self.render(style, fitting.count().max(2))
    }

    fn render(&self, style: &Style, columns: usize) -> String {
        let widths = self.widths();
        let mut out = String::new();
        for row in &self.rows {
            let mut line = " ".repeat(self.indent);
            for (place, (cell, column)) in row.cells.iter().zip(&widths).take(columns).enumerate() {
                let pad = " ".repeat(column.saturating_sub(width(&cell.text)));
                let text = style.tint(cell.tone, &cell.text);
                match (place, cell.takes_the_rest) {
                    (0, _) => line = line + &text + &pad,
                    (_, true) => line = line + &" ".repeat(GAP) + &text,
                    (_, false) => line = line + &" ".repeat(GAP) + &pad + &text,
                }
            }
            out.push_str(&style.tint(row.tone, line.trim_end()));
            out.push('\n');
        }
        out
    }

    fn widths(&self) -> Vec<usize> {
        let mut widths = Vec::new();
        for row in &self.rows {
            for (place, cell) in row.cells.iter().enumerate() {
                match widths.get_mut(place) {
                    Some(most) => *most = cell.column().max(*most),
                    None => widths.push(cell.column()),
                }
            }
        }
        widths
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(2);
        table.line(Tone::Faint, ["way", "ms", "trips"].map(Cell::plain));
        table.row([
            Cell::new(Tone::Strong, "h3"),
            Cell::plain("101.5"),
            Cell::plain("1"),
        ]);
        table.row([
            Cell::plain("漢字"),
            Cell::long(Tone::Bad, "failed\u{1b}: nobody is there"),
        ]);
        table
    }

    #[test]
    fn columns_align_for_any_text() {
        let style = Style {
            width: 80,
            ..Style::default()
        };
        let expected =
            "  way      ms  trips\n  h3    101.5      1\n  漢字  failed\\u{1b}: nobody is there\n";
        assert_eq!(table().whole(&style), expected);
        assert_eq!(table().fitted(&style), expected);
    }

    #[test]
    fn a_narrow_terminal_loses_the_last_columns() {
        let style = Style {
            width: 15,
            ..Style::default()
        };
        assert!(!table().fitted(&style).contains("trips"));
        assert!(table().fitted(&style).contains("101.5"));
    }

    #[test]
    fn a_line_has_one_tone() {
        let style = Style {
            colour: true,
            ..Style::default()
        };
        let text = table().whole(&style);
        assert!(
            text.starts_with("\x1b[2m  way      ms  trips\x1b[0m\n"),
            "{text:?}"
        );
        assert!(text.contains("\n  \x1b[1mh3\x1b[0m    101.5"), "{text:?}");
    }
}
