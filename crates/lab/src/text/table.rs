//! Columns that align: the first to the left, the others to the right; what has no room loses its last columns.

use std::fmt::Write;

const GAP: usize = 2;
const INDENT: usize = 2;

pub(super) struct Cell {
    code: &'static str,
    text: String,
    /// It takes the rest of its line.
    long: bool,
}

impl Cell {
    pub(super) fn plain(text: String) -> Self {
        Self::painted("", text)
    }

    pub(super) fn painted(code: &'static str, text: String) -> Self {
        Self {
            code,
            text,
            long: false,
        }
    }

    pub(super) fn long(code: &'static str, text: String) -> Self {
        Self {
            code,
            text,
            long: true,
        }
    }

    fn width(&self) -> usize {
        self.text.chars().count()
    }
}

pub(super) struct Table {
    rows: Vec<Vec<Cell>>,
}

impl Table {
    pub(super) fn new(head: &[&str]) -> Self {
        let head = head
            .iter()
            .map(|title| Cell::painted("2", (*title).to_owned()));
        Self {
            rows: vec![head.collect()],
        }
    }

    pub(super) fn row(&mut self, row: Vec<Cell>) {
        self.rows.push(row);
    }

    pub(super) fn render(&self, width: usize, colour: bool) -> String {
        let widths = self.widths();
        let mut room = width.saturating_sub(INDENT);
        let shown = widths.iter().take_while(|column| {
            let fits = room >= **column;
            room = room.saturating_sub(**column + GAP);
            fits
        });
        let shown = shown.count().max(2);
        let mut out = String::new();
        for row in &self.rows {
            let mut line = " ".repeat(INDENT);
            for (place, (cell, width)) in row.iter().zip(&widths).take(shown).enumerate() {
                let pad = " ".repeat(width.saturating_sub(cell.width()));
                let text = paint(cell, colour);
                match (place, cell.long) {
                    (0, _) => line = line + &text + &pad,
                    (_, true) => line = line + &" ".repeat(GAP) + &text,
                    (_, false) => line = line + &" ".repeat(GAP) + &pad + &text,
                }
            }
            let _ = writeln!(out, "{}", line.trim_end());
        }
        out
    }

    fn widths(&self) -> Vec<usize> {
        let mut widths = Vec::new();
        for row in &self.rows {
            for (place, cell) in row.iter().enumerate() {
                let width = if cell.long { 0 } else { cell.width() };
                match widths.get_mut(place) {
                    Some(most) => *most = width.max(*most),
                    None => widths.push(width),
                }
            }
        }
        widths
    }
}

fn paint(cell: &Cell, colour: bool) -> String {
    if !colour || cell.code.is_empty() || cell.text.is_empty() {
        return cell.text.clone();
    }
    format!("\x1b[{}m{}\x1b[0m", cell.code, cell.text)
}
