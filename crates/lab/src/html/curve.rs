//! A curve: medians over the values of a word, as lines with their names at the ends, and as a
//! table.

use maud::{Markup, html};
use roundtrip_report::html::{Grid, percent};
use roundtrip_report::{clean, ms};

use super::scale::with_unit;
use crate::LabOutcome;
use crate::experiment::span;
use crate::outcome::{Curve, CurveLine};

const TOP: f64 = 14.0;
const BOTTOM: f64 = 254.0;
const HEIGHT: f64 = 280.0;
/// The smallest distance between two names, which would cover each other.
const LABEL: f64 = 32.0;
/// The number of colours in the style sheet.
const COLOURS: usize = 6;

pub(super) fn section(curve: &Curve, outcome: &LabOutcome, key: &str) -> Markup {
    let Some(plot) = Plot::from_curve(curve) else {
        return html! {};
    };
    let (title, words) = (format!("curve-{key}-t"), format!("curve-{key}-d"));
    html! {
        h2 { (clean(&heading(curve))) }
        figure {
            div.plot {
                svg.curve width="100%" height=(HEIGHT) role="img" aria-labelledby={ (title) " " (words) } {
                    title id=(title) { "Medians along " (clean(&curve.word)) }
                    desc id=(words) { (description(curve)) }
                    (plot.levels(&curve.unit))
                    (plot.values())
                    @for (place, line) in curve.lines.iter().enumerate() { (plot.line(line, place)) }
                }
                svg.ends width="118" height=(HEIGHT) aria-hidden="true" {
                    @for (y, place, line, value) in plot.ends(curve) {
                        text class={ "name line-" (place % COLOURS) } x="10" y=(fixed(y)) { (clean(&line.arm)) }
                        text x="10" y=(fixed(y + 14.0)) { (with_unit(value, &clean(&curve.unit))) }
                    }
                }
            }
            figcaption { "Medians in " (clean(&curve.unit)) ", by " (clean(&curve.word)) "." }
        }
        (table(curve, outcome))
    }
}

/// `By requests: 1 to 50`.
fn heading(curve: &Curve) -> String {
    let points = curve.lines.first().map(|line| line.points.as_slice());
    match points {
        Some([first, .., last]) => {
            format!("By {}: {} to {}", curve.word, first.value, last.value)
        }
        _ => format!("By {}", curve.word),
    }
}

/// Positions in the picture.
struct Plot {
    /// The position of each value of the word, from 0 to 1.
    places: Vec<(String, f64)>,
    top: f64,
    step: f64,
}

impl Plot {
    fn from_curve(curve: &Curve) -> Option<Self> {
        let points = curve.lines.iter().flat_map(|line| &line.points);
        let medians = points.filter_map(|point| point.figures.median);
        let most = medians.filter(|m| m.is_finite()).fold(0.0, f64::max);
        let step = Grid::new(most, None).step();
        let longest = curve.lines.iter().max_by_key(|line| line.points.len())?;
        let values = longest.points.iter().map(|point| point.value.clone());
        (most > 0.0 && step > 0.0).then(|| Self {
            places: places(values.collect()),
            top: most * 1.04,
            step,
        })
    }

    fn y(&self, value: f64) -> f64 {
        BOTTOM - value / self.top * (BOTTOM - TOP)
    }

    fn x(&self, value: &str) -> Option<String> {
        let (_, at) = self.places.iter().find(|(known, _)| known == value)?;
        Some(percent(*at, 1.0))
    }

    fn levels(&self, unit: &str) -> Markup {
        let levels = (0..32).map(|n| f64::from(n) * self.step);
        html! {
            g.levels {
                @for level in levels.take_while(|level| *level <= self.top) {
                    @let y = fixed(self.y(level));
                    line x1="0" x2="100%" y1=(y) y2=(y) {}
                    @if level > 0.0 { text x="0" y=(fixed(self.y(level) - 4.0)) { (level) " " (clean(unit)) } }
                }
            }
        }
    }

    /// The labels of the values, below the curve. Values that are too close to the one before
    /// appear only in the table.
    fn values(&self) -> Markup {
        let mut last = f64::NEG_INFINITY;
        let far = |(_, at): &&(String, f64)| {
            let enough = at - last >= 0.07;
            if enough {
                last = *at;
            }
            enough
        };
        let shown: Vec<&(String, f64)> = self.places.iter().filter(far).collect();
        html! {
            g.grid { @for (value, at) in &shown {
                text x=(percent(*at, 1.0)) y=(fixed(BOTTOM + 18.0)) class=[(*at == 0.0).then_some("first")] { (clean(value)) }
            } }
        }
    }

    fn line(&self, line: &CurveLine, place: usize) -> Markup {
        let at = line.points.iter().filter_map(|point| {
            let median = point.figures.median.filter(|m| m.is_finite())?;
            Some((self.x(&point.value)?, fixed(self.y(median)), point, median))
        });
        let at: Vec<_> = at.collect();
        html! {
            g class={ "line-" (place % COLOURS) } {
                @for pair in at.windows(2) {
                    @if let [(x1, y1, ..), (x2, y2, ..)] = pair { line x1=(x1) y1=(y1) x2=(x2) y2=(y2) {} }
                }
                @for (x, y, point, median) in &at {
                    circle cx=(x) cy=(y) r="3" { title { (clean(&point.name)) ": " (ms(*median)) } }
                }
            }
        }
    }

    /// Each line's name at the height of its end, moved down if another name is in the way.
    fn ends<'a>(&self, curve: &'a Curve) -> Vec<(f64, usize, &'a CurveLine, f64)> {
        let lines = curve.lines.iter().enumerate();
        let mut ends: Vec<_> = lines
            .filter_map(|(place, line)| {
                let last = line.points.iter().rev().find_map(|p| p.figures.median)?;
                Some((self.y(last), place, line, last))
            })
            .collect();
        ends.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut lowest = BOTTOM - 6.0;
        for end in &mut ends {
            end.0 = end.0.min(lowest);
            lowest = end.0 - LABEL;
        }
        ends
    }
}

/// Positions in proportion if all values are numbers or durations, otherwise at equal distances.
fn places(values: Vec<String>) -> Vec<(String, f64)> {
    let number = |value: &String| {
        let plain = value.parse::<f64>().ok().filter(|n| n.is_finite());
        plain.or_else(|| span(value).map(|span| span.as_secs_f64()))
    };
    let numbers: Option<Vec<f64>> = values.iter().map(number).collect();
    let even = |n: usize| n as f64;
    let numbers = numbers.unwrap_or_else(|| (0..values.len()).map(even).collect());
    let low = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let high = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let wide = if high > low { high - low } else { 1.0 };
    let at = numbers.iter().map(|n| (n - low) / wide);
    values.into_iter().zip(at.collect::<Vec<f64>>()).collect()
}

fn table(curve: &Curve, outcome: &LabOutcome) -> Markup {
    let longest = curve.lines.iter().max_by_key(|line| line.points.len());
    let values: Vec<&str> = longest.map_or(Vec::new(), |line| {
        line.points.iter().map(|p| p.value.as_str()).collect()
    });
    html! {
        details {
            summary { "The same data as a table" }
            div.scroll { table {
                caption.unseen { "Medians of " (clean(&outcome.experiment)) " along " (clean(&curve.word)) }
                thead { tr {
                    th scope="col" { (clean(&curve.word)) }
                    @for value in &values { th scope="col" { (clean(value)) } }
                } }
                tbody { @for line in &curve.lines { tr {
                    th scope="row" { (clean(&line.arm)) }
                    @for value in &values {
                        @let point = line.points.iter().find(|point| point.value == *value);
                        td { (point.and_then(|p| p.figures.median).map_or("–".into(), ms)) }
                    }
                } } }
            } }
        }
    }
}

fn description(curve: &Curve) -> String {
    let each = curve.lines.iter().map(|line| {
        let points = line.points.iter().filter_map(|point| {
            let median = point.figures.median?;
            Some(format!("{} at {}", ms(median), clean(&point.value)))
        });
        let points: Vec<String> = points.collect();
        format!("{}: {}", clean(&line.arm), points.join(", "))
    });
    each.collect::<Vec<String>>().join("; ") + "."
}

fn fixed(value: f64) -> String {
    format!("{value:.1}")
}
