//! Small charts of the last two minutes: the newest value at the right, gaps where there are none.

use std::fmt::Write as _;

use maud::{Markup, html};
use roundtrip_report::ms;

use super::figures::{ceiling, rate};
use crate::admin::history::MAX_POINTS;

const HEIGHT: f64 = 48.0;

pub(super) struct ChartLine {
    class: &'static str,
    name: &'static str,
    filled: bool,
    /// Zero is normal, and is not drawn.
    rare: bool,
    /// The oldest first.
    values: Vec<Option<f64>>,
}

impl ChartLine {
    pub(super) fn area(class: &'static str, values: Vec<Option<f64>>) -> Self {
        Self {
            class,
            name: class,
            filled: true,
            rare: false,
            values,
        }
    }

    pub(super) fn thin(class: &'static str, values: Vec<Option<f64>>) -> Self {
        Self {
            filled: false,
            ..Self::area(class, values)
        }
    }

    /// Marks a line for events that should not happen.
    pub(super) fn rare(self) -> Self {
        Self { rare: true, ..self }
    }

    pub(super) fn named(self, name: &'static str) -> Self {
        Self { name, ..self }
    }

    /// Whether something is visible at this place or next to it.
    fn shows(&self, at: usize) -> bool {
        let near = at.saturating_sub(1)..=at + 1;
        let is = |value: &Option<f64>| value.is_some_and(|value| value > 0.0);
        !self.rare || near.filter_map(|at| self.values.get(at)).any(is)
    }

    fn last(&self) -> Option<f64> {
        self.values.last().copied().flatten()
    }

    /// Runs of adjacent values, as coordinates in the picture.
    fn stretches(&self, top: f64) -> Vec<Vec<(f64, f64)>> {
        let first = MAX_POINTS.saturating_sub(self.values.len());
        let place = |(at, value): (usize, &Option<f64>)| {
            let value = value.filter(|_| self.shows(at))?;
            let height = HEIGHT * (1.0 - value / top);
            Some(((first + at) as f64, height.clamp(0.0, HEIGHT)))
        };
        let places: Vec<Option<(f64, f64)>> = self.values.iter().enumerate().map(place).collect();
        let stretches = places.split(Option::is_none);
        stretches
            .map(|stretch| stretch.iter().copied().flatten().collect())
            .filter(|stretch: &Vec<_>| !stretch.is_empty())
            .collect()
    }
}

/// All lines on one scale, which ends at a round number.
pub(super) fn chart(title: &str, unit: &str, lines: &[ChartLine]) -> Markup {
    let values = lines.iter().flat_map(|line| &line.values).flatten();
    let top = ceiling(values.copied().fold(0.0, f64::max));
    let tell = |value: f64| if unit == "ms" { ms(value) } else { rate(value) };
    let (width, height) = (MAX_POINTS - 1, HEIGHT);
    html! {
        article.chart {
            h2.first { (title) span.quiet { " " (unit) } }
            ul.legend {
                @for line in lines {
                    li class=(line.class) {
                        (line.name) " " b { (line.last().map_or_else(|| "–".into(), tell)) }
                    }
                }
            }
            figure {
                span.scale { (tell(top)) }
                svg viewBox=(format!("0 0 {width} {height}")) preserveAspectRatio="none" role="img"
                    aria-label=(format!("{title}, the last two minutes, up to {} {unit}", tell(top))) {
                    g.levels { @for level in [0.0, 0.5, 1.0] { line x1="0" x2=(width) y1=(height * level) y2=(height * level) {} } }
                    @for line in lines { (draw(line, top)) }
                }
                figcaption { span { "2 min ago" } span { "now" } }
            }
        }
    }
}

fn draw(line: &ChartLine, top: f64) -> Markup {
    let (mut stroke, mut area) = (String::new(), String::new());
    for stretch in line.stretches(top) {
        let (Some(first), Some(last)) = (stretch.first(), stretch.last()) else {
            continue;
        };
        let mut path = String::new();
        for (place, (x, y)) in stretch.iter().enumerate() {
            let word = if place == 0 { 'M' } else { 'L' };
            let _ = write!(path, "{word}{x} {y:.2}");
        }
        // A single point is a dot, by its round ends.
        let _ = write!(stroke, "{path}h.01");
        let _ = write!(area, "{path}V{HEIGHT}H{}Z", first.0.min(last.0));
    }
    html! {
        @if line.filled { path.area.(line.class) d=(area) {} }
        path.line.(line.class) d=(stroke) {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_is_at_the_right_and_gaps_stay_gaps() {
        let line = ChartLine::thin("p99", vec![Some(0.0), None, Some(2.0), Some(1.0)]);
        let end = (MAX_POINTS - 1) as f64;
        assert_eq!(
            line.stretches(2.0),
            [
                vec![(end - 3.0, HEIGHT)],
                vec![(end - 1.0, 0.0), (end, HEIGHT / 2.0)]
            ]
        );
    }

    #[test]
    fn a_chart_of_errors_that_did_not_happen_is_empty() {
        let line =
            |values: &[f64]| ChartLine::thin("errors", values.iter().copied().map(Some).collect());
        assert!(line(&[0.0; 9]).rare().stretches(2.0).is_empty());
        assert_eq!(line(&[0.0; 9]).stretches(2.0).len(), 1);
        let peak = line(&[0.0, 0.0, 2.0, 0.0, 0.0]).rare().stretches(2.0);
        assert_eq!(peak.iter().map(Vec::len).collect::<Vec<_>>(), [3]);
    }

    #[test]
    fn a_chart_says_what_it_shows() {
        let lines = [
            ChartLine::area("requests", vec![Some(3.0), Some(17.0)]).named("answered"),
            ChartLine::thin("errors", vec![None, None]).named("errors"),
        ];
        let text = chart("Requests", "/s", &lines).into_string();
        assert!(
            text.contains("Requests, the last two minutes, up to 20 /s"),
            "{text}"
        );
        assert!(text.contains("<li class=\"requests\">answered <b>17</b>"));
        assert!(text.contains("<li class=\"errors\">errors <b>–</b>"));
        assert!(!chart("None", "ms", &[]).into_string().contains("NaN"));
    }
}
