//! Bars on a common scale: the cells of a row that a span of time covers, shared among parties.

use roundtrip_model::Waited;

use crate::numbers::round_up;
use crate::party::Party;
use crate::terminal::{Style, Tone, cut, width};

/// Converts milliseconds to cells.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    pub(super) total_ms: f64,
    pub(super) cells: usize,
}

impl Scale {
    pub(super) fn cell(&self, ms: f64) -> usize {
        if self.total_ms <= 0.0 || !ms.is_finite() {
            return 0;
        }
        let place = (ms / self.total_ms * self.cells as f64).round();
        (place.max(0.0) as usize).min(self.cells)
    }

    /// A row of `cells` cells with the bar of one phase at its position.
    pub(super) fn row(&self, style: &Style, start: f64, end: f64, waited: &Waited) -> String {
        let (from, to) = (self.cell(start), self.cell(end));
        if from >= to {
            let from = from.min(self.cells.saturating_sub(1));
            let mark = style.paint(Tone::Of(main_party(waited)), "▏");
            return format!(
                "{}{mark}{}",
                " ".repeat(from),
                " ".repeat((self.cells - from).saturating_sub(1))
            );
        }
        format!(
            "{}{}{}",
            " ".repeat(from),
            filled(style, waited, to - from),
            " ".repeat(self.cells - to)
        )
    }

    /// A ruler under the rows, with a mark at each multiple of `step` milliseconds.
    pub(super) fn ruler(&self, style: &Style, step: f64) -> String {
        let mut cells = vec!['─'; self.cells];
        let mut at = 0.0;
        while at <= self.total_ms && step > 0.0 {
            if let Some(cell) = cells.get_mut(self.cell(at)) {
                *cell = if at == 0.0 { '├' } else { '┼' };
            }
            at += step;
        }
        style.paint(Tone::Faint, &cells.into_iter().collect::<String>())
    }

    /// The distance of the ruler's marks: the path's round trip if that keeps them apart, otherwise
    /// a round number. True if it is the round trip.
    pub(super) fn step(&self, rtt: Option<f64>) -> (f64, bool) {
        let least = self.total_ms * 3.0 / self.cells.max(1) as f64;
        match rtt {
            Some(r) if r >= least && r <= self.total_ms => (r, true),
            _ => (round_step(self.total_ms / 6.0), false),
        }
    }
}

/// A bar of `cells` cells, shared among the parties.
pub(super) fn filled(style: &Style, waited: &Waited, cells: usize) -> String {
    let shares = Party::ALL.map(|p| p.share(waited));
    let counts = apportion(&shares, cells);
    Party::ALL
        .iter()
        .zip(counts)
        .map(|(party, n)| {
            let run: String = std::iter::repeat_n(fill(style, *party), n).collect();
            style.tint(Tone::Of(*party), &run)
        })
        .collect()
}

/// The character for the time that was spent waiting for a party.
pub(super) fn fill(style: &Style, party: Party) -> char {
    match (party, style.unicode) {
        (Party::Network, true) => '█',
        (Party::Server, true) => '▓',
        (Party::Client, true) => '▒',
        (Party::Resolver, true) => '░',
        (Party::Loss, true) => '╳',
        (Party::Unknown, _) => '?',
        (Party::Network, false) => '#',
        (Party::Server, false) => '=',
        (Party::Client, false) => '-',
        (Party::Resolver, false) => ':',
        (Party::Loss, false) => 'x',
    }
}

/// The legend of the bars: the time of each party. `product` is the number of round trips, and the
/// time of one.
pub(super) fn legend(
    style: &Style,
    waited: &Waited,
    product: Option<(u32, f64)>,
    places: usize,
) -> Vec<String> {
    let seen = |p: &Party| p.share(waited) > 0.0 || !p.is_rare();
    let parts = Party::BY_WEIGHT.into_iter().filter(seen).map(|party| {
        let product = match (party, product) {
            (Party::Network, Some((trips, rtt))) if trips > 0 => {
                format!(" ({trips} × {rtt:.places$})")
            }
            _ => String::new(),
        };
        let words = format!(
            "{} {:.places$} ms{product}",
            party.name(),
            party.share(waited)
        );
        (party, cut(&words, style.columns() - 5))
    });
    let (mut lines, mut used) = (vec![String::new()], 0);
    for (party, words) in parts {
        let length = width(&words) + 5;
        if used > 0 && used + length > style.columns() {
            lines.push(String::new());
            used = 0;
        }
        used += length;
        if let Some(line) = lines.last_mut() {
            let fill = style.tint(Tone::Of(party), &fill(style, party).to_string());
            let words = style.paint(Tone::Plain, &words);
            line.extend(["  ", &fill, " ", &words, " "]);
        }
    }
    lines
}

/// Shares `cells` in proportion to `shares`, by largest remainder.
fn apportion<const N: usize>(shares: &[f64; N], cells: usize) -> [usize; N] {
    let sum: f64 = shares.iter().sum();
    let mut counts = [0; N];
    if sum <= 0.0 {
        if let Some(last) = counts.last_mut() {
            *last = cells;
        }
        return counts;
    }
    let exact = shares.map(|s| s / sum * cells as f64);
    for (count, e) in counts.iter_mut().zip(exact) {
        *count = e.floor() as usize;
    }
    let mut order: Vec<(usize, f64)> = exact.iter().map(|e| e.fract()).enumerate().collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1));
    let missing = cells.saturating_sub(counts.iter().sum());
    for (place, _) in order.into_iter().take(missing) {
        if let Some(count) = counts.get_mut(place) {
            *count += 1;
        }
    }
    counts
}

fn main_party(waited: &Waited) -> Party {
    Party::ALL
        .into_iter()
        .max_by(|a, b| a.share(waited).total_cmp(&b.share(waited)))
        .unwrap_or(Party::Client)
}

/// The nearest of 1, 2, 5, 10 … at or above `wanted`.
pub(crate) fn round_step(wanted: f64) -> f64 {
    if wanted <= 0.0 || !wanted.is_finite() {
        return 0.0;
    }
    round_up(wanted * 0.999, &[1.0, 2.0, 5.0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_shared_without_loss() {
        assert_eq!(apportion(&[1.0, 1.0, 1.0], 10).iter().sum::<usize>(), 10);
        assert_eq!(apportion(&[3.0, 1.0, 0.0], 8), [6, 2, 0]);
        assert_eq!(apportion(&[0.0, 0.0], 3), [0, 3]);
    }

    #[test]
    fn steps_are_round() {
        for (wanted, step) in [
            (0.7, 1.0),
            (1.0, 1.0),
            (13.0, 20.0),
            (42.0, 50.0),
            (80.0, 100.0),
        ] {
            assert!((round_step(wanted) - step).abs() < 1e-9, "{wanted}");
        }
        assert!(round_step(f64::NAN).abs() < 1e-9);
    }
}
